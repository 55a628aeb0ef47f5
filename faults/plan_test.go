package faults

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseReadsWhatPeopleWrite(t *testing.T) {
	plan, err := Parse(`# watchsim plan v1

# Lose the only member, and compact behind its back.
at 12.5s  etcd-crash down=2s member=etcd-0   # parameters in any order
at 20s compaction revision=current
at 1m compaction revision=current-7
at 31s partition from=apiserver-0 to=etcd-0 for=4s
at 0s leader-move
at 5s slow-consumer client=watcher-1 delay=200ms for=3s
`)
	require.NoError(t, err)
	require.Equal(t, Plan{
		{At: 12500 * time.Millisecond, Kind: "etcd-crash", Member: "etcd-0", Lasts: 2 * time.Second},
		{At: 20 * time.Second, Kind: "compaction"},
		{At: time.Minute, Kind: "compaction", Back: 7},
		{At: 31 * time.Second, Kind: "partition", From: "apiserver-0", To: "etcd-0", Lasts: 4 * time.Second},
		{Kind: "leader-move"},
		{At: 5 * time.Second, Kind: "slow-consumer", Client: "watcher-1", Delay: 200 * time.Millisecond, Lasts: 3 * time.Second},
	}, plan)
	empty, err := Parse("")
	require.NoError(t, err)
	require.Empty(t, empty)
}

func TestParseErrorsSayWhatWasExpectedAndFound(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"# watchsim plan v2\n", `line 1: expected a plan of version v1, found "v2"`},
		{"\n\nin 3s reset", `line 3: expected a line to begin with at, found "in"`},
		{"at", `line 1: expected a time since the start such as 12.5s after at, found ""`},
		{"at 12 reset", `line 1: expected a time since the start such as 12.5s after at, found "12"`},
		{"at -1s reset", `such as 12.5s after at, found "-1s"`},
		{"# fine\nat 1s", `line 2: expected one of the kinds compaction, `},
		{"at 1s earthquake", `found "earthquake"`},
		{"at 1s etcd-restart etcd-0", `line 1: expected name=value after etcd-restart, found "etcd-0"`},
		{"at 1s etcd-restart member=a member=a", `expected member once, found it twice`},
		{"at 1s etcd-restart server=a", `expected the parameters member of etcd-restart, found "server"`},
		{"at 1s leader-move to=a", `expected no parameters of leader-move, found "to"`},
		{"at 1s etcd-crash member=etcd-0", `expected down= with a duration above zero such as 1.5s, found none for etcd-crash`},
		{"at 1s etcd-crash member= down=1s", `expected the name of an etcd member after member=, found ""`},
		{"at 1s etcd-crash member=etcd-0 down=2", `expected a duration above zero such as 1.5s after down=, found "2"`},
		{"at 1s etcd-crash member=etcd-0 down=0s", `after down=, found "0s"`},
		{"at 1s compaction revision=5", `expected current, or current-N with N above 0 after revision=, found "5"`},
		{"at 1s compaction revision=current-0", `found "current-0"`},
		{"at 1s compaction revision=current+3", `found "current+3"`},
		{"at 1s compaction revision=current--3", `found "current--3"`},
	} {
		plan, err := Parse(row.text)
		require.ErrorContains(t, err, row.want, row.text)
		require.Nil(t, plan)
		require.NotContains(t, err.Error(), "\n", "an error is one sentence")
	}
}

// anyFault draws a fault with any names and times that a plan can express.
func anyFault(t *rapid.T) Fault {
	name := func(label string) string { return rapid.StringMatching(`[a-z][a-z0-9.-]{0,9}`).Draw(t, label) }
	duration := func(label string, least int64) time.Duration {
		return time.Duration(rapid.Int64Range(least, int64(100*time.Hour)).Draw(t, label))
	}
	kind := rapid.SampledFrom(Kinds()).Draw(t, "kind")
	fault := Fault{At: duration("at", 0), Kind: kind.Name}
	for _, parameter := range kind.Parameters {
		switch parameter.Name {
		case "member", "survivor":
			fault.Member = name("member")
		case "server":
			fault.Server = name("server")
		case "client":
			fault.Client = name("client")
		case "from":
			fault.From = name("from")
		case "to":
			fault.To = name("to")
		case "revision":
			fault.Back = rapid.Int64Range(0, 1<<40).Draw(t, "back")
		case "delay":
			fault.Delay = duration("delay", 1)
		case "for", "down":
			fault.Lasts = duration("lasts", 1)
		default:
			t.Fatalf("no way to draw the parameter %s", parameter.Name)
		}
	}
	return fault
}

func TestAPrintedPlanParsesToItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := Plan(rapid.SliceOfN(rapid.Custom(anyFault), 1, 10).Draw(t, "plan"))
		parsed, err := Parse(plan.String())
		require.NoError(t, err)
		require.Equal(t, plan, parsed)
	})
}

func TestPlansPrintOneLineAFault(t *testing.T) {
	require.Equal(t, "# watchsim plan v1\nat 12.5s etcd-crash member=etcd-0 down=2s\nat 1s leader-move\n", Plan{
		{At: 12500 * time.Millisecond, Kind: "etcd-crash", Member: "etcd-0", Lasts: 2 * time.Second},
		{At: time.Second, Kind: "leader-move"},
	}.String())
}

// topology is three members, two servers and three clients.
func topology() Topology {
	return Topology{
		Members: []string{"etcd-0", "etcd-1", "etcd-2"}, Servers: []string{"apiserver-0", "apiserver-1"},
		Clients: []string{"writer-0", "watcher-0", "watcher-1"}, Consumers: []string{"watcher-0", "watcher-1"},
	}
}

func TestCheckNamesWhatCannotFire(t *testing.T) {
	single := topology()
	single.Members = single.Members[:1]
	for _, row := range []struct {
		line     string
		topology Topology
		want     string
	}{
		{"at 1s etcd-restart member=etcd-2", topology(), ""},
		{"at 1s etcd-restart member=etcd-2", single, `expected member to be one of [etcd-0], found "etcd-2"`},
		{"at 1s etcd-restart member=apiserver-0", topology(), `found "apiserver-0"`},
		{"at 1s quorum-loss survivor=etcd-2 down=1s", topology(), ""},
		{"at 1s quorum-loss survivor=etcd-0 down=1s", single, "expected at least 3 etcd members, found 1"},
		{"at 1s reset from=watcher-0 to=apiserver-1", topology(), ""},
		{"at 1s reset from=etcd-0 to=etcd-9", topology(), `expected to to be one of`},
		{"at 1s reset from=etcd-0 to=etcd-0", topology(), "found etcd-0 at both ends"},
		{"at 1s watch-break server=apiserver-9", topology(), `found "apiserver-9"`},
		{"at 1s stalled-consumer client=watcher-1 for=1s", topology(), ""},
		{"at 1s stalled-consumer client=writer-0 for=1s", topology(), `found "writer-0"`},
	} {
		plan, err := Parse(row.line)
		require.NoError(t, err)
		if err := plan.Check(row.topology); row.want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, row.want)
		}
	}
	require.ErrorContains(t, Plan{{Kind: "earthquake"}}.Check(topology()), `found "earthquake"`)
}

func TestEveryKindIsDocumented(t *testing.T) {
	seen := map[string]bool{}
	for _, kind := range Kinds() {
		require.False(t, seen[kind.Name], kind.Name)
		seen[kind.Name] = true
		require.GreaterOrEqual(t, strings.Count(kind.Doc, "."), 2, "%s says what happens and what must survive it", kind.Name)
		timed := false
		for _, parameter := range kind.Parameters {
			timed = timed || parameter.Name == "for" || parameter.Name == "down"
		}
		require.Equal(t, kind.Lasts(), timed, "%s lasts if and only if it says for how long", kind.Name)
	}
}
