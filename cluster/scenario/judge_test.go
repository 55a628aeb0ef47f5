package scenario

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/simnet"
)

// Without etcd's log, a correct history and an incorrect one look the same. Later seeds
// can still be checked.
func TestARunWithoutItsTruthIsInconclusive(t *testing.T) {
	run := &Run{Spec: specOf(t, "minute"), Result: &sim.Result{Stop: sim.Completed}, History: &model.History{},
		Unreadable: errors.New("cannot read the truth from etcd's logs: a page is missing")}
	verdict := run.Judge()
	require.Equal(t, linearizability.Inconclusive, verdict.Outcome)
	require.Equal(t, "cannot read the truth from etcd's logs: a page is missing", verdict.Reason)
	require.Empty(t, verdict.Violations)
}

// etcd skips a progress notification after an event, and each may be late by up to a tenth, so a
// period of 20 s instead of 5 s makes up to 33 s.
func TestRareProgressReportsMakeBookmarksLate(t *testing.T) {
	for period, bound := range map[time.Duration]time.Duration{0: 0, time.Second: 0, 5 * time.Second: 0, 20 * time.Second: 108 * time.Second} {
		spec := specOf(t, "minute")
		spec.Setup.ProgressNotify = period
		run := &Run{Spec: spec, Result: &sim.Result{Stop: sim.Completed}, History: &model.History{}}
		require.Equal(t, bound, run.Judge().RefreshBound, period)
	}
}

func TestMembersHavePatienceInEveryRun(t *testing.T) {
	require.Equal(t, 5*time.Second, cluster.Network(simnet.Latency{}).Patience("etcd-0:2380"))
}

// A deadlock of the code under test shows in a call that does not return.
func TestADeadlockOfTheCodeUnderTestIsAFailure(t *testing.T) {
	const stacks = "[world #1] goroutine 1 [chan receive]:\n" +
		"github.com/watchsim/watchsim/sim.(*Process).Do(0x1, 0x2)\n\t/sim/process.go:76\n" +
		"github.com/watchsim/watchsim/cluster.(*Cluster).call(0x1)\n\t/cluster/cluster.go:228\n\n" +
		"[apiserver-0 #7] goroutine 7 [sync.Mutex.Lock]:\nexample.com/cache.(*Cache).list(0x1)\n\t/src/cache.go:9\n\n" +
		"[apiserver-0 #9, holds 1 locks] goroutine 9 [sync.WaitGroup.Wait]:\n" +
		"sync.runtime_SemacquireWaitGroup(0x1)\n\t/src/runtime/sema.go:114\nsync.(*WaitGroup).Wait(0x1)\n\t/src/sync/waitgroup.go:206\n" +
		"example.com/cache.(*Cache).Stop(0x1)\n\t/src/cache.go:20\n" +
		"github.com/watchsim/watchsim/cluster.(*Server).Stop.func1()\n\t/cluster/server.go:114\n" +
		"github.com/watchsim/watchsim/sim.(*Process).Do.func1()\n\t/sim/process.go:72\n"
	stop := func(since time.Duration) []cluster.Call {
		return []cluster.Call{{What: "the stop", Process: "apiserver-0", Since: since}}
	}
	for _, row := range []struct {
		name    string
		stop    sim.Stop
		waiting []cluster.Call
		fails   bool
	}{
		{"no time is left, and nothing was asked of the code under test", sim.TimeBudget, nil, false},
		{"no time is left, and a call has just begun", sim.TimeBudget, stop(299 * time.Second), false},
		{"no decision is left, and a call has just begun", sim.DecisionBudget, stop(299 * time.Second), false},
		{"a deadlock of the harness", sim.Deadlock, nil, false},
		{"no time is left, and a call lasts", sim.TimeBudget, stop(100 * time.Second), true},
		{"a deadlock in a call", sim.Deadlock, stop(299 * time.Second), true},
	} {
		t.Run(row.name, func(t *testing.T) {
			run := &Run{Spec: specOf(t, "minute"), Began: 10 * time.Second, History: &model.History{}, Waiting: row.waiting,
				Result: &sim.Result{Stop: row.stop, Simulated: 300 * time.Second, Stacks: stacks}}
			verdict := run.Judge()
			require.Equal(t, []linearizability.Reason{{Code: linearizability.ReasonCode(row.stop), Text: row.stop.String()}}, verdict.Reasons)
			if !row.fails {
				require.Equal(t, linearizability.Inconclusive, verdict.Outcome)
				return
			}
			require.Equal(t, linearizability.Failed, verdict.Outcome)
			found := verdict.Violations[0]
			require.Equal(t, []string{Completed, NeverReturned, "example.com/cache.(*Cache).Stop"}, []string{found.Guarantee, found.Code, found.Subject})
		})
	}
}

func TestScriptedScenariosArePossible(t *testing.T) {
	for _, entry := range scripted {
		spec := specOf(t, entry.Name)
		require.NoError(t, spec.Validate(), entry.Name)
		require.Equal(t, entry.minimum, spec.minimum(), "%s: with its own plan it is what the catalogue says", entry.Name)
		if spec.Plan != "" {
			plan, err := faults.Parse(spec.Plan)
			require.NoError(t, err)
			require.Equal(t, spec.Plan, plan.String(), "%s: the text is the one that a folder holds", entry.Name)
		}
		spec.Explore.To = spec.Duration
		require.ErrorIs(t, spec.Validate(), ErrSpec, "%s: a window that outlasts the faults", entry.Name)
		require.NoError(t, specOf(t, entry.Name).Validate(), "a changed spec leaves the catalogue alone")
	}
}

// A run of an old release must not report the version that the project requires.
func TestTheVersionIsThatOfTheCodeThatWasBuilt(t *testing.T) {
	link := filepath.Join(t.TempDir(), "go.etcd.io_etcd_server_v3")
	require.NoError(t, os.Symlink("/modules/go.etcd.io/etcd/server/v3@v3.5.12", link))
	for name, row := range map[string]struct {
		replace *debug.Module
		want    string
	}{
		"as required":        {nil, "v3.7.0"},
		"another release":    {&debug.Module{Path: "go.etcd.io/etcd/server/v3", Version: "v3.5.13"}, "v3.5.13"},
		"a link to another":  {&debug.Module{Path: link}, "v3.5.12"},
		"a folder with code": {&debug.Module{Path: t.TempDir()}, "v3.7.0"},
	} {
		module := &debug.Module{Path: "go.etcd.io/etcd/server/v3", Version: "v3.7.0", Replace: row.replace}
		require.Equal(t, row.want, version(module), name)
	}
}
