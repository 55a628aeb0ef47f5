package simnet

import (
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLatencySamplesLieWithinTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		durations := rapid.Int64Range(0, int64(time.Second))
		low, high := durations.Draw(t, "min"), durations.Draw(t, "max")
		l := Latency{
			Min: time.Duration(low), Max: time.Duration(high),
			TailProbability: rapid.Float64Range(0, 1).Draw(t, "probability"),
			Tail:            time.Duration(durations.Draw(t, "tail")),
		}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range 20 {
			d := l.sample(random)
			require.GreaterOrEqual(t, d, l.Min)
			require.LessOrEqual(t, d, max(l.Min, l.Max)+l.Tail)
		}
	})
}

func TestLatencyTailIsAsLikelyAsItSays(t *testing.T) {
	l := Latency{Min: ms, Max: 2 * ms, TailProbability: 0.1, Tail: time.Second}
	random := randByName("tail")
	late := 0
	for range 10_000 {
		if l.sample(random) > 2*ms {
			late++
		}
	}
	require.InDelta(t, 1000, late, 150)
}

func TestLoopbackHasNoLatency(t *testing.T) {
	inBubble(t, latency(time.Second), func(t *testing.T, n *Network) {
		listener := listen(t, n)
		require.Zero(t, elapsed(func() {
			dialed, accepted := dialAndAccept(t, n, "server", listener)
			mustWrite(t, dialed, "x")
			requireRead(t, accepted, "x")
		}))
	})
}

func TestBandwidth(t *testing.T) {
	inBubble(t, Config{Default: Link{Latency: fixed(10 * ms), Bandwidth: 1 << 20}}, func(t *testing.T, n *Network) {
		client, server := connect(t, n)
		const size = 10 << 20
		go func() { _, _ = client.Write(make([]byte, size)) }()
		took := elapsed(func() {
			_, err := io.ReadFull(server, make([]byte, size))
			require.NoError(t, err)
		})
		require.InDelta(t, 10.0, took.Seconds(), 0.6, "10 MiB at 1 MiB/s; a full buffer costs a latency")
	})
}

func TestConnectionsShareTheBandwidthOfTheirLink(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, n *Network) {
		first, firstServer := connect(t, n)
		second, secondServer := connect(t, n)
		n.SetBandwidth("client", "server", 1000)
		mustWrite(t, first, string(make([]byte, 1000)))
		mustWrite(t, second, "x")
		require.Equal(t, 1001*ms, elapsed(func() { requireRead(t, secondServer, "x") }))
		require.Zero(t, elapsed(func() { requireRead(t, firstServer, string(make([]byte, 1000))) }))
	})
}

// arrivals sends messages from a client to the server and returns how long each was in flight,
// while another host sends as much as it likes.
func arrivals(t *testing.T, chatter int) (took []time.Duration) {
	names := map[string]int{}
	config := Config{
		Default: Link{Latency: Latency{Min: ms, Max: 50 * ms, TailProbability: 0.2, Tail: time.Second}},
		Rand: func(name string) *rand.Rand {
			names[name]++
			return randByName(name)
		},
	}
	inBubble(t, config, func(t *testing.T, n *Network) {
		listener := listen(t, n)
		client, server := dialAndAccept(t, n, "client", listener)
		other, _ := dialAndAccept(t, n, "other", listener)
		for range 20 {
			for range chatter {
				mustWrite(t, other, "x")
			}
			mustWrite(t, client, "x")
			took = append(took, elapsed(func() { requireRead(t, server, "x") }))
		}
	})
	require.Equal(t, map[string]int{
		"network/client>server": 1, "network/server>client": 1,
		"network/other>server": 1, "network/server>other": 1,
	}, names)
	return took
}

func TestTrafficOnOneLinkDoesNotReshuffleAnother(t *testing.T) {
	quiet := arrivals(t, 0)
	require.Equal(t, quiet, arrivals(t, 0), "the same again")
	require.Equal(t, quiet, arrivals(t, 7), "whatever the neighbour does")
	require.Greater(t, len(slices.Compact(slices.Sorted(slices.Values(quiet)))), 10, "latencies vary")
}

func TestRetransmission(t *testing.T) {
	const limit = 2 * time.Second
	tests := []struct{ since, now, want time.Duration }{
		{0, 0, 200 * ms},
		{0, 200 * ms, 200 * ms},
		{0, 201 * ms, 600 * ms},
		{0, 700 * ms, 1400 * ms},
		{0, 1500 * ms, 3000 * ms},
		{0, 3001 * ms, 5000 * ms}, // from here on every limit
		{0, 5001 * ms, 7000 * ms},
		{time.Second, 1100 * ms, 1200 * ms},
	}
	for _, test := range tests {
		require.Equal(t, test.want, time.Duration(retransmission(int64(test.since), int64(test.now), limit)), "%+v", test)
	}
}
