package scenario

import (
	"time"

	"github.com/watchsim/watchsim/cluster/workload"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/sim"
)

// The scripted scenarios are small, for searches that try one schedule after another (simrun
// explore). Each tests one race within a window of time; before and after it the schedule is the
// default one. They can also run like any other scenario.

const (
	scriptedDuration = 20 * time.Second
	scriptedQuiet    = 15 * time.Second
)

// window returns the exploration of a scenario's default window.
func window(from, to time.Duration) *Exploration {
	return &Exploration{From: from, To: to, Explore: sim.Explore{
		Delays: []time.Duration{5 * time.Millisecond, 300 * time.Millisecond},
	}}
}

var scripted = []Entry{
	{Name: "start-reinit", Summary: "small, for simrun explore: watches start while the cache reinitialises",
		spec: Spec{
			Explore: window(1990*time.Millisecond, 2900*time.Millisecond),
			Members: 1, Servers: 1, Duration: scriptedDuration, Quiet: scriptedQuiet, EventBytes: 512,
			Kinds: []string{"watch-break"}, Plan: "# watchsim plan v1\nat 2s watch-break server=apiserver-0\n",
		},
		script: []workload.ScriptLine{
			{Client: "writer", At: 500 * time.Millisecond, Do: workload.DoCreate, Name: "a"},
			{Client: "writer", At: 600 * time.Millisecond, Do: workload.DoCreate, Name: "b"},
			{Client: "writer", At: 2001 * time.Millisecond, Do: workload.DoUpdate, Name: "a"},
			{Client: "writer", At: 2102 * time.Millisecond, Do: workload.DoDelete, Name: "b"},
			{Client: "early", At: 1 * time.Second, Do: workload.DoWatch, From: workload.FromState},
			{Client: "late", At: 1 * time.Second, Do: workload.DoList, From: workload.FromAny},
			{Client: "late", At: 2 * time.Second, Do: workload.DoWatch, From: workload.FromKnown},
		},
		minimum: linearizability.Counts{Writes: 4, Lists: 1, Streams: 2, Events: 3, Bookmarks: 1, Changes: 4, Faults: 1, Released: 1},
	},
	{Name: "compact-reconnect", Summary: "small, for simrun explore: history is compacted while the cache is cut off from etcd, and it comes back",
		spec: Spec{
			Explore: window(2290*time.Millisecond, 3200*time.Millisecond),
			Members: 1, Servers: 2, Duration: scriptedDuration, Quiet: scriptedQuiet, EventBytes: 512,
			Kinds: []string{"black-hole", "compaction"},
			Plan: "# watchsim plan v1\nat 2s black-hole from=etcd-0 to=apiserver-0 for=300ms\n" +
				"at 2.2s compaction revision=current\n",
		},
		script: []workload.ScriptLine{
			{Client: "writer", At: 500 * time.Millisecond, Do: workload.DoCreate, Server: 1, Name: "a"},
			{Client: "writer", At: 600 * time.Millisecond, Do: workload.DoCreate, Server: 1, Name: "b"},
			{Client: "writer", At: 2050 * time.Millisecond, Do: workload.DoDelete, Server: 1, Name: "a"},
			{Client: "writer", At: 2100 * time.Millisecond, Do: workload.DoUpdate, Server: 1, Name: "b"},
			{Client: "writer", At: 2310 * time.Millisecond, Do: workload.DoUpdate, Server: 1, Name: "b"},
			{Client: "early", At: 1 * time.Second, Do: workload.DoWatch, From: workload.FromState},
			{Client: "late", At: 1 * time.Second, Do: workload.DoList, From: workload.FromAny},
			{Client: "late", At: 2305 * time.Millisecond, Do: workload.DoWatch, From: workload.FromKnown},
		},
		minimum: linearizability.Counts{Writes: 5, Lists: 1, Streams: 2, Events: 4, Bookmarks: 1, Changes: 5, Faults: 2, Released: 2},
	},
	{Name: "slow-eviction", Summary: "small, for simrun explore: a consumer falls behind a window that holds four events",
		spec: Spec{
			Explore: window(1990*time.Millisecond, 2600*time.Millisecond),
			Members: 1, Servers: 1, Duration: scriptedDuration, Quiet: scriptedQuiet, EventBytes: 32 << 10,
			Kinds: []string{}, WindowEvents: 4,
		},
		script: []workload.ScriptLine{
			{Client: "writer", At: 500 * time.Millisecond, Do: workload.DoCreate, Name: "a"},
			{Client: "writer", At: 1500 * time.Millisecond, Do: workload.DoUpdate, Name: "a"},
			{Client: "writer", At: 1510 * time.Millisecond, Do: workload.DoUpdate, Name: "a"},
			{Client: "writer", At: 1520 * time.Millisecond, Do: workload.DoUpdate, Name: "a"},
			{Client: "writer", At: 1530 * time.Millisecond, Do: workload.DoUpdate, Name: "a"},
			{Client: "writer", At: 2000 * time.Millisecond, Do: workload.DoUpdate, Name: "a"},
			{Client: "writer", At: 2010 * time.Millisecond, Do: workload.DoDelete, Name: "a"},
			{Client: "writer", At: 2020 * time.Millisecond, Do: workload.DoCreate, Name: "b"},
			{Client: "writer", At: 2030 * time.Millisecond, Do: workload.DoUpdate, Name: "b"},
			{Client: "slow", At: 1 * time.Second, Do: workload.DoWatch, From: workload.FromState, Pace: 400 * time.Millisecond},
			{Client: "fast", At: 1 * time.Second, Do: workload.DoWatch, From: workload.FromState},
		},
		minimum: linearizability.Counts{Writes: 9, Streams: 2, Events: 9, Bookmarks: 2, Changes: 9, Released: 1},
	},
}
