package simnet

import (
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// play does what a script says to a connection from the host client to the host server.
// A semicolon ends a step; a time at the end of one that reads is how long it has to take.
//
//	client writes TEXT; client reads "TEXT" 10ms; server is silent 1m
//	server ends 10ms; server is reset 10ms; client breaks    (EOF, ECONNRESET, EPIPE of a write)
//	client closes; client half-closes; crash server; wait 5ms
//	partition; one-way; black hole; heal; reset; latency 1s; latency back 1s
//	freeze server; thaw server; slow server 1s
func play(t *testing.T, n *Network, script string) {
	t.Helper()
	client, server := connect(t, n)
	faults := map[string]func(from, to string){
		"partition": n.Partition, "one-way": n.PartitionOneWay, "black": n.BlackHole, "heal": n.Heal,
		"reset": func(from, to string) { n.ResetLink(from, to) },
	}
	for step := range strings.SplitSeq(script, ";") {
		step = strings.TrimSpace(step)
		words := strings.Fields(step)
		last, timeErr := time.ParseDuration(words[len(words)-1])
		if fault := faults[words[0]]; fault != nil {
			fault("client", "server")
			continue
		}
		switch words[0] {
		case "wait":
			time.Sleep(last)
			continue
		case "crash":
			n.CrashHost(words[1])
			continue
		case "freeze", "thaw":
			n.Freeze(words[1], words[0] == "freeze")
			continue
		case "slow":
			n.SlowHost(words[1], last)
			continue
		case "latency":
			from, to := "client", "server"
			if words[1] == "back" {
				from, to = to, from
			}
			n.SetLatency(from, to, fixed(last))
			continue
		}
		end := map[string]*Conn{"client": client, "server": server}[words[0]]
		require.NotNil(t, end, step)
		took := elapsed(func() {
			switch words[1] {
			case "writes":
				mustWrite(t, end, strings.SplitN(step, " ", 3)[2])
			case "reads":
				requireRead(t, end, strings.Split(step, `"`)[1])
			case "is":
				if words[2] == "silent" {
					requireSilence(t, end, last)
				} else {
					requireReadError(t, end, syscall.ECONNRESET)
				}
			case "ends":
				requireReadError(t, end, io.EOF)
			case "breaks":
				requireWriteError(t, end, syscall.EPIPE)
			case "closes":
				require.NoError(t, end.Close())
			case "half-closes":
				require.NoError(t, end.CloseWrite())
			default:
				t.Fatalf("unknown step %q", step)
			}
		})
		if timeErr == nil {
			require.Equal(t, last, took.Round(time.Millisecond), step)
		}
	}
}

// TestConnectionsAndFaults plays scripts on links with a latency of 10 ms each way.
func TestConnectionsAndFaults(t *testing.T) {
	for name, row := range map[string]struct {
		script string
		stats  Stats
	}{
		"a write does not wait for its arrival": {`client writes hello; server reads "hello" 10ms`, Stats{}},
		"a deadline eats no bytes":              {`client writes x; server is silent 9ms; server reads "x" 1ms`, Stats{}},
		"what is written before Close arrives": {`client writes last words; client closes; server reads "last words" 10ms; server ends;
			server writes anybody there?; wait 19ms; server writes hello?; wait 1ms; server breaks; server ends; server closes`, Stats{}},
		"Close resets what was sent meanwhile": {`server writes crossing; client closes; wait 19ms; server ends; server writes y; wait 1ms; server breaks`, Stats{}},
		"CloseWrite leaves the other way": {`client writes request; client half-closes; client half-closes; client breaks; server reads "request"; server ends;
			server writes response; server closes; client reads "response"; client ends`, Stats{}},
		"segments do not overtake each other": {`latency 1s; client writes slow; latency 0s; client writes fast; server reads "slowfast" 1s`, Stats{}},
		"links are directed":                  {`latency 30ms; latency back 5ms; client writes there; server reads "there" 30ms; server writes back; client reads "back" 5ms`, Stats{}},

		// 40 s after the first loss TCP has waited 0.2+0.4+...+25.6 = 51 s for its next attempt.
		"a partition delays everything": {`client writes under way,; wait 5ms; partition; client writes written meanwhile; server writes and back;
			server is silent 20s; client is silent 20s; heal; server reads "under way,written meanwhile" 11.01s; client reads "and back"`, Stats{SegmentsHeld: 3}},
		"a partition of an idle connection leaves no trace": {`partition; wait 1h; heal; client writes x; server reads "x" 10ms`, Stats{}},
		"a partition leaves what has arrived":               {`client writes arrived; wait 10ms; partition; server reads "arrived" 0s`, Stats{}},
		"a partition one way":                               {`one-way; client writes held; server writes passes; client reads "passes" 10ms; server is silent 1m; heal; server reads "held"`, Stats{SegmentsHeld: 1}},
		"a partition delays the end of a stream":            {`client writes bye; client closes; partition; server is silent 1m; heal; server reads "bye"; server ends`, Stats{SegmentsHeld: 1}},
		"a partition delays a reset":                        {`crash server; wait 5ms; partition; client is silent 1m; heal; client is reset`, Stats{Resets: 1}},
		"a retransmission takes the latency of its time":    {`latency 1h; client writes x; partition; latency 10ms; heal; server reads "x" 210ms`, Stats{SegmentsHeld: 1}},

		// Healing is of the partition alone, and thawing of the host.
		"a frozen host neither sends nor receives": {`client writes under way; freeze server; client writes ,later; server writes answer; wait 1s; partition; heal;
			server is silent 1s; one-way; thaw server; server is silent 1m; client reads "answer"; heal; server reads "under way,later"`, Stats{SegmentsHeld: 3}},
		"a slow host is slow to everybody": {`slow server 100ms; latency 20ms; client writes x; server reads "x" 120ms; server writes y; client reads "y" 110ms;
			slow server 0s; client writes x; server reads "x" 20ms`, Stats{}},

		"a black hole loses for ever": {`client writes arrived; wait 10ms; black hole; server reads "arrived"; client writes lost; server writes passes; client reads "passes";
			heal; client writes behind the hole; server is silent 1h; client half-closes; server is silent 1h; reset; server is reset`, Stats{SegmentsLost: 2, Resets: 1}},
		"a black hole takes what is under way": {`client writes lost; wait 5ms; black hole; heal; server is silent 1h`, Stats{SegmentsLost: 1}},
		// What the server sends finds nobody and is answered with a reset.
		"a black hole takes the end of a stream":          {`black hole; client closes; heal; server is silent 1h; server writes x; server is reset 20ms`, Stats{}},
		"a black hole takes an end that is under way":     {`client half-closes; wait 5ms; black hole; heal; server is silent 1h`, Stats{}},
		"a black hole spares idle connections":            {`black hole; heal; client writes idle; server reads "idle" 10ms`, Stats{}},
		"a reset leaves nothing to arrive later":          {`partition; client writes x; reset; heal; wait 1m; server is reset`, Stats{SegmentsHeld: 1, Resets: 1}},
		"a crash is not known before what was sent":       {`latency back 1s; server writes slow; latency back 0s; crash server; client reads "slow"; client is reset`, Stats{Resets: 1}},
		"a crash behind a partition loses what it delays": {`partition; server writes dies with its kernel; crash server; client is silent 1m; heal; client is reset`, Stats{SegmentsHeld: 1, Resets: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, latency(10*ms), func(t *testing.T, n *Network) {
				play(t, n, row.script)
				stats := n.Stats()
				require.Equal(t, row.stats, Stats{SegmentsHeld: stats.SegmentsHeld, SegmentsLost: stats.SegmentsLost, Resets: stats.Resets})
			})
		})
	}
}
