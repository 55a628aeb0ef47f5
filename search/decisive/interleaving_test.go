package decisive

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/sim"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const cache = "example.org/cache"

// at makes the synchronisation points of a story, in order.
type points []sim.Point

// passes adds that a goroutine passed a point, in these functions from the innermost
// to the one that it began with.
func (p *points) passes(decision uint64, at time.Duration, goroutine uint64, functions ...string) {
	var calls []sim.Call
	for _, function := range functions {
		name, place, _ := strings.Cut(function, " ")
		calls = append(calls, sim.Call{Function: name, Place: place})
	}
	*p = append(*p, sim.Point{Decision: decision, At: at, Goroutine: goroutine, Callers: append(calls, sim.Call{Function: outermost})})
}

// told is a story in which decision 20 stalls goroutine 7 at 2 s, for 1.04 s where 1 s would not
// suffice.
func told(p points, more ...sim.Decision) Story {
	var decisions []sim.Decision
	for number := range uint64(20) {
		decisions = append(decisions, sim.Decision{Number: number + 1, At: time.Second, Kind: sim.KindPick, Goroutine: 1})
	}
	for _, d := range more {
		decisions[d.Number-1] = d
	}
	decisions[17] = sim.Decision{Number: 18, At: 2 * time.Second, Kind: sim.KindYield, Chosen: 3, Goroutine: 7}
	decisions[18] = sim.Decision{Number: 19, At: 2 * time.Second, Kind: sim.KindStall, Chosen: 1, Goroutine: 7}
	decisions[19] = sim.Decision{Number: 20, At: 2 * time.Second, Kind: sim.KindLength, Chosen: 2, Goroutine: 7}
	return Story{
		Found: Found{Last: 20, Numbers: []uint64{20}, Enough: 2, TooShort: 1}, Decisions: decisions, Points: p,
		Schedule: sim.Schedule{StallMin: 960 * time.Millisecond, StallMax: 2 * time.Second},
		Under:    []string{cache, "example.org/store"}, Cache: 1, Asked: 1500 * time.Millisecond,
	}
}

func TestWhoStoodInTheMiddleOfWhatIsTold(t *testing.T) {
	var p points
	p.passes(5, 900*time.Millisecond, 3, cache+".(*Cache).run run.go:1")
	p.passes(10, 1600*time.Millisecond, 9, cache+".(*ready).check ready.go:1", cache+".(*Cache).Watch watch.go:10", "example.org/server.serve serve.go:1")
	p.passes(10, 1600*time.Millisecond, 9, "sync.(*Mutex).Lock mutex.go:1", cache+".(*ready).check ready.go:2", cache+".(*Cache).Watch watch.go:10", "example.org/server.serve serve.go:1")
	p.passes(15, 1700*time.Millisecond, 9, cache+".(*Cache).Watch watch.go:12", "example.org/server.serve serve.go:1")
	p.passes(16, 1800*time.Millisecond, 7, "example.org/net.send send.go:5", "example.org/net.loop loop.go:6")
	p.passes(25, 2100*time.Millisecond, 3, cache+".(*Cache).run run.go:1")
	p.passes(30, 3020*time.Millisecond, 3, cache+".(*Cache).forget forget.go:7", cache+".(*Cache).run run.go:3")
	p.passes(31, 3030*time.Millisecond, 8, "example.org/store.Get get.go:1")
	p.passes(32, 3100*time.Millisecond, 7, "example.org/net.send send.go:8", "example.org/net.loop loop.go:6")
	p.passes(40, 3200*time.Millisecond, 9, cache+".(*watchers).add add.go:9", cache+".(*Cache).Watch watch.go:20", "example.org/server.serve serve.go:1")
	p.passes(41, 3300*time.Millisecond, 3, cache+".(*Cache).run run.go:1")
	turns := told(p).Turns()
	require.Len(t, turns, 1)
	turn := turns[0]
	require.Equal(t, uint64(20), turn.Decision.Number, "an interruption, that it is a stall and for how long are one turn")
	require.Equal(t, []sim.Call{{Function: "net.send", Place: "send.go:5"}, {Function: "net.loop", Place: "loop.go:6"}}, turn.Stood)

	require.Len(t, turn.Meanwhile, 2, "what others did before it made a difference does not count")
	require.Equal(t, uint64(3), turn.Meanwhile[0].Goroutine, "caches first")
	require.Equal(t, "cache.(*Cache).forget", turn.Meanwhile[0].Steps[0].Calls[0].Function)

	require.Len(t, turn.UnderWay, 1, "the cache's own goroutine is not under way")
	call := turn.UnderWay[0]
	require.Equal(t, [4]any{uint64(9), "cache.(*Cache).Watch", "watch.go:12", "watch.go:20"}, [4]any{call.Goroutine, call.Function, call.From, call.To})
	require.Equal(t, 1600*time.Millisecond, call.Since)
	require.Len(t, call.Before, 2, "a function is told of once")
	require.Equal(t, "cache.(*watchers).add", call.After[0].Calls[0].Function)
	require.Zero(t, call.Held)
	require.Len(t, call.Meanwhile, 1)
	require.Len(t, call.Meanwhile[0].Steps, 1, "where it goes anyway is not told of")
	require.Equal(t, "cache.(*Cache).forget", call.Meanwhile[0].Steps[0].Calls[0].Function)
}

func TestACallThatWasHeldUpSaysSo(t *testing.T) {
	var p points
	p.passes(10, 1600*time.Millisecond, 9, cache+".(*Cache).Watch watch.go:10", "example.org/server.serve serve.go:1")
	p.passes(40, 3200*time.Millisecond, 9, cache+".(*Cache).Watch watch.go:20", "example.org/server.serve serve.go:1")
	story := told(p, sim.Decision{Number: 12, At: 1600 * time.Millisecond, Kind: sim.KindLength, Chosen: 200, Goroutine: 9})
	call := story.Turns()[0].UnderWay[0]
	require.Equal(t, uint64(12), call.Decision)
	require.Equal(t, 2*time.Second, call.Held)
}

// A call that had returned, or that came later, was not interrupted.
func TestACallThatHadReturnedIsNotUnderWay(t *testing.T) {
	for name, test := range map[string]struct {
		at       time.Duration
		cutShort bool
		underWay int
	}{
		"it was elsewhere already":        {at: 1900 * time.Millisecond},
		"it returned":                     {at: 3100 * time.Millisecond},
		"a stack that was cut short":      {at: 1900 * time.Millisecond, cutShort: true, underWay: 1},
		"one that was cut short later on": {at: 3100 * time.Millisecond, cutShort: true, underWay: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var p points
			p.passes(10, 1600*time.Millisecond, 9, cache+".(*Cache).Watch watch.go:10", "example.org/server.serve serve.go:1")
			p.passes(15, test.at, 9, "example.org/server.serve serve.go:2")
			if test.cutShort {
				p[1].Callers = p[1].Callers[:1]
			}
			p.passes(40, 3200*time.Millisecond, 9, cache+".(*Cache).Watch watch.go:20", "example.org/server.serve serve.go:1")
			require.Len(t, told(p).Turns()[0].UnderWay, test.underWay)
		})
	}
}

func TestTheCallClosestToTheRequestComesFirst(t *testing.T) {
	var p points
	for i, began := range []time.Duration{1400 * time.Millisecond, 1900 * time.Millisecond, 1550 * time.Millisecond} {
		p.passes(uint64(10+i), began, uint64(i)+1, cache+".(*Cache).Watch watch.go:10", "example.org/server.serve serve.go:1")
	}
	for i := range uint64(3) {
		p.passes(40, 3200*time.Millisecond, i+1, cache+".(*Cache).Watch watch.go:20", "example.org/server.serve serve.go:1")
	}
	var order []uint64
	for _, call := range told(p).Turns()[0].UnderWay {
		order = append(order, call.Goroutine)
	}
	require.Equal(t, []uint64{3, 2, 1}, order)
}

// TestTheReadinessCheckOfKubernetes116122IsTold compares the explanation of a run of the bug with a
// golden file. The search's result is decisive.json of its folder; docs/replay.md says how to get
// there.
func TestTheReadinessCheckOfKubernetes116122IsTold(t *testing.T) {
	content, err := os.ReadFile("testdata/A01.json")
	require.NoError(t, err)
	var explained Explained
	require.NoError(t, json.Unmarshal(content, &explained))
	text := explained.Text()
	if *update {
		require.NoError(t, os.WriteFile("testdata/A01.txt", []byte(text), 0o644))
	}
	want, err := os.ReadFile("testdata/A01.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), text, "run the test with -update if the change is meant")
	require.Contains(t, text, "goroutine #147 stood in cacher.(*Cacher).Watch between cacher.go:572")
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, len(strings.TrimRight(line, "\n")), explain.Columns, line)
	}
}

func TestWhatWasNotFoundIsSaid(t *testing.T) {
	for says, found := range map[string]Found{
		"No decision of the scheduler matters":                      {None: true},
		"and not after decision 75":                                 {After: 50, Before: 75, Tried: 5},
		"There was no time to find the last decision":               {},
		"The last decision of the scheduler that it needs is numbe": {Last: 4, Numbers: []uint64{4}},
	} {
		require.Contains(t, Explained{Found: found}.Text(), says)
	}
}
