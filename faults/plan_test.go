package faults

import (
	"math/rand/v2"
	"os"
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
	between  10s and 18s on client-page 2 of apiserver-0 compaction revision=deletion
`)
	require.NoError(t, err)
	require.Equal(t, Plan{
		{At: 12500 * time.Millisecond, Kind: "etcd-crash", Member: "etcd-0", Lasts: 2 * time.Second},
		{At: 20 * time.Second, Kind: "compaction"},
		{At: time.Minute, Kind: "compaction", Back: 7},
		{At: 31 * time.Second, Kind: "partition", From: "apiserver-0", To: "etcd-0", Lasts: 4 * time.Second},
		{Kind: "leader-move"},
		{At: 5 * time.Second, Kind: "slow-consumer", Client: "watcher-1", Delay: 200 * time.Millisecond, Lasts: 3 * time.Second},
		{At: 10 * time.Second, Until: 18 * time.Second, Point: "client-page", Number: 2, Process: "apiserver-0",
			Kind: "compaction", Back: LastDeletion},
	}, plan)
	empty, err := Parse("")
	require.NoError(t, err)
	require.Empty(t, empty)
}

func TestParseErrorsSayWhatWasExpectedAndFound(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"# watchsim plan v2\n", `line 1, column 17: expected a plan of version v1, found "v2"`},
		{"\n\nin 3s reset", `line 3, column 1: expected a line to begin with at or between, found "in"`},
		{"at", `line 1, column 3: expected a time since the start such as 12.5s after at, found ""`},
		{"at 12 reset", `line 1, column 4: expected a time since the start such as 12.5s after at, found "12"`},
		{"at -1s reset", `such as 12.5s after at, found "-1s"`},
		{"# fine\nat 1s", `line 2, column 6: expected one of the kinds compaction, `},
		{"at 1s   earthquake", `line 1, column 9: expected one of the kinds`},
		{"at 1s earthquake", `found "earthquake"`},
		{"at 1s etcd-restart etcd-0", `line 1, column 20: expected name=value after etcd-restart, found "etcd-0"`},
		{"at 1s etcd-restart member=a member=a", `column 29: expected member once, found it twice`},
		{"at 1s etcd-restart member=a server=a", `column 29: expected the parameters member of etcd-restart, found "server"`},
		{"at 1s leader-move to=a", `expected no parameters of leader-move, found "to"`},
		{"at 1s etcd-crash member=etcd-0", `column 31: expected down= with a duration above zero such as 1.5s, found none for etcd-crash`},
		{"at 1s etcd-crash member= down=1s", `expected the name of an etcd member after member=, found ""`},
		{"at 1s etcd-crash member=etcd-0 down=2", `column 32: expected a duration above zero such as 1.5s after down=, found "2"`},
		{"at 1s etcd-crash member=etcd-0 down=0s", `after down=, found "0s"`},
		{"at 1s compaction revision=5", `expected current, current-N with N above 0, oldest, or deletion after revision=, found "5"`},
		{"at 1s compaction revision=current-0", `found "current-0"`},
		{"at 1s compaction revision=current+3", `found "current+3"`},
		{"at 1s compaction revision=current--3", `found "current--3"`},
		{"at 1s slow-link from=a to=b rate=0 for=1s", `expected a number of bytes per second above zero after rate=, found "0"`},
		{"at 1s expiring-writes server=a ttl=1.5s for=1s", `expected a duration of whole seconds such as 3s after ttl=, found "1.5s"`},
		{"at 1s power-loss member=a keep=all down=1s", `column 27: expected nothing or some after keep=, found "all"`},
		{"at 1s etcd-restore member=a bump=-1", `expected a number of revisions, 0 for none after bump=, found "-1"`},
		{"at 1s watch-stall program=a watches= for=1s", `expected all, some-N with a number that chooses resources, or the names of resources such as pods or databases.example.com, with commas between them after watches=, found ""`},
		{"at 1s watch-stall program=a watches=some-one for=1s", `expected all, some-N with a number that chooses resources, or the names of resources such as pods or databases.example.com, with commas between them after watches=, found "some-one"`},
		{"at 1s request-failure program=a code=429 one-in=0 for=1s", `expected a number above zero, 1 for all requests after one-in=, found "0"`},
		{"at 1s request-failure program=a code=404 one-in=1 for=1s", `expected 401, 429, 500 or 503 after code=, found "404"`},
		{"at 1s clock-jump process=a by=0s for=1s", `expected a duration other than zero such as 1h or -30s after by=, found "0s"`},
		{"between 1s reset", `line 1, column 12: expected and, found "reset"`},
		{"between 5s and 5s on list 1 of a leader-move", `column 16: expected a time after 5s, found 5s`},
		{"between 5s and 6s list 1 of a leader-move", `column 19: expected on, found "list"`},
		{"between 5s and 6s on lists 1 of a leader-move", `column 22: expected one of the points list, listed, `},
		{"between 5s and 6s on list first of a leader-move", `column 27: expected which list it is, as a number above zero, found "first"`},
		{"between 5s and 6s on list 0 of a leader-move", `found "0"`},
		{"between 5s and 6s on list 1 a leader-move", `column 29: expected of, found "a"`},
		{"between 5s and 6s on list 1 of", `column 31: expected the name of an API server or an etcd member, found ""`},
		{"at 1s latency from=\u00e4 to=b delay=x for=1s", `column 27: expected a duration`},
	} {
		plan, err := Parse(row.text)
		require.ErrorContains(t, err, row.want, row.text)
		require.Nil(t, plan)
		require.NotContains(t, err.Error(), "\n", "an error is one sentence")
	}
}

// anyFault returns a fault whose values are drawn as in generated plans, with any times and
// with names that no topology has.
func anyFault(t *rapid.T) Fault {
	duration := rapid.Int64Range(1, int64(100*time.Hour))
	names := rapid.SliceOfN(rapid.StringMatching(`[a-z][a-z0-9.-]{0,9}`), 2, 2)
	kind := rapid.SampledFrom(Kinds()).Draw(t, "kind")
	fault := Fault{At: time.Duration(duration.Draw(t, "at")), Kind: kind.Name}
	if rapid.Bool().Draw(t, "waits") {
		fault.Until = fault.At + time.Duration(duration.Draw(t, "wait"))
		fault.Point = rapid.SampledFrom(Points()).Draw(t, "point").Name
		fault.Number, fault.Process = rapid.IntRange(1, 1000).Draw(t, "number"), names.Draw(t, "process")[0]
	}
	if kind.Lasts() {
		fault.Lasts = time.Duration(duration.Draw(t, "lasts"))
	}
	drawn := Topology{Members: names.Draw(t, "members"), Servers: names.Draw(t, "servers"), Certified: names.Draw(t, "certified"), Consumers: names.Draw(t, "consumers"), Programs: names.Draw(t, "programs")}
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	for _, parameter := range kind.Parameters {
		if parameter.draw != nil {
			parameter.draw(&fault, random, drawn)
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

// FuzzParse checks that the parser either rejects a text with the line and column of the
// error, in one line, or returns a plan that prints and parses to itself.
func FuzzParse(f *testing.F) {
	f.Add("# watchsim plan v1\nat 5s compaction revision=current\nat 6s etcd-crash member=etcd-0 down=1s\n")
	f.Add("at 1.5s partition-one-way from=etcd-0 to=apiserver-0 for=982ms # a comment\n\n")
	f.Add("# watchsim plan v9\n")
	f.Add("at 9999999h etcd-crash member= member=x")
	f.Fuzz(func(t *testing.T, text string) {
		plan, err := Parse(text)
		if err != nil {
			require.Regexp(t, `^faults: line [0-9]+, column [0-9]+: `, err.Error())
			require.NotContains(t, err.Error(), "\n")
			return
		}
		again, err := Parse(plan.String())
		require.NoError(t, err)
		require.Equal(t, plan.String(), again.String())
	})
}

// TestDocsHaveEveryKindAndPoint compares docs/faults.md with the code.
func TestDocsHaveEveryKindAndPoint(t *testing.T) {
	text, err := os.ReadFile("../docs/faults.md")
	require.NoError(t, err)
	rows := map[string]string{} // by the names in the first column
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for name := range strings.SplitSeq(cells[1], ",") {
				rows[strings.Trim(name, " `")] = line
			}
		}
	}
	for _, point := range Points() {
		require.NotEmpty(t, rows[point.Name], "point %s has no row", point.Name)
		require.NotEmpty(t, point.Doc, point.Name)
		require.Positive(t, point.often, point.Name)
	}
	for _, kind := range Kinds() {
		require.NotEmpty(t, rows[kind.Name], "%s has no row", kind.Name)
		require.GreaterOrEqual(t, strings.Count(kind.Doc, "."), 2, "%s says what happens and what must survive it", kind.Name)
		timed := false
		for _, parameter := range kind.Parameters {
			require.Contains(t, rows[kind.Name], "`"+parameter.Name+"`", kind.Name)
			timed = timed || parameter.Name == "for" || parameter.Name == "down"
		}
		require.Equal(t, kind.Lasts(), timed, "%s lasts if and only if it says for how long", kind.Name)
	}
}
