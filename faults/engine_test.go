package faults

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

// carryOut runs a plan's text on a fake surface that prepare may have changed.
func carryOut(t *testing.T, text string, prepare func(*fakeSurface) context.Context) (surface *fakeSurface, report Report, err error) {
	t.Helper()
	plan, parseErr := Parse(text)
	require.NoError(t, parseErr)
	synctest.Test(t, func(t *testing.T) {
		surface = newFakeSurface()
		ctx := t.Context()
		if prepare != nil {
			ctx = prepare(surface)
		}
		report, err = NewEngine(plan, surface, surface.began).Run(ctx)
	})
	return surface, report, err
}

func TestActionsHappenAtTheirTimes(t *testing.T) {
	surface, report, err := carryOut(t, `
at 9s compaction revision=current-3
at 1s etcd-crash member=etcd-0 down=2s
at 2s latency from=etcd-0 to=etcd-1 delay=50ms for=5s
at 3s partition from=apiserver-0 to=etcd-0 for=1s
at 4s partition-one-way from=etcd-0 to=apiserver-0 for=1s
at 5s black-hole from=etcd-0 to=apiserver-0 for=1s
at 6s reset from=apiserver-1 to=etcd-0
at 8s apiserver-crash server=apiserver-0 down=1s
at 8.5s slow-consumer client=watcher-0 delay=10ms for=500ms
at 10s etcd-restart member=etcd-2
at 12s leader-move
at 14s quorum-loss survivor=etcd-1 down=1s
at 17s apiserver-restart server=apiserver-0
at 17.5s watch-break server=apiserver-1
at 18.5s stalled-consumer client=watcher-0 for=1s
at 20s etcd-lag member=etcd-1 delay=30ms for=1s
at 20.5s etcd-defrag member=etcd-2
at 22s auto-compaction member=etcd-0 period=1s for=1s
at 23.5s stream-stall server=apiserver-0 for=500ms
at 25s stream-break server=apiserver-1
at 26s progress-loss server=apiserver-1 for=1s
at 28s slow-link from=apiserver-0 to=etcd-0 rate=4096 for=1s
at 30s watch-close server=apiserver-0
at 31s watch-error server=apiserver-0
at 32s list-failure server=apiserver-0 for=1s
at 34s decode-failure server=apiserver-0 for=1s
at 36s transform-failure server=apiserver-0 for=1s
at 38s expiring-writes server=apiserver-0 ttl=2s for=1s
at 40s apiserver-unreachable server=apiserver-1 for=1s
at 42s slow-disk member=etcd-1 delay=20ms for=1s
at 44s power-loss member=etcd-2 keep=some down=1s
at 47s clock-jump process=apiserver-0 by=-1h0m0s for=1s
`, nil)
	require.NoError(t, err)
	require.Empty(t, report.NotFired)
	require.Empty(t, surface.wrong)
	// Calls at one instant may come in any order, if from different faults.
	slices.SortFunc(surface.calls, func(a, b call) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.what, b.what))
	})
	var calls []string
	for _, call := range surface.calls {
		calls = append(calls, call.at.String()+" "+call.what)
	}
	require.Equal(t, []string{
		"1s crash etcd-0",
		"2s latency etcd-0 etcd-1 50ms", "2s latency etcd-1 etcd-0 50ms",
		"3s partition apiserver-0 etcd-0",
		"3s start etcd-0",
		"4s heal apiserver-0 etcd-0", "4s one-way etcd-0 apiserver-0",
		"5s black-hole etcd-0 apiserver-0", "5s heal etcd-0 apiserver-0",
		"6s heal etcd-0 apiserver-0", "6s reset apiserver-1 etcd-0", "6s reset etcd-0 apiserver-0",
		"7s latency etcd-0 etcd-1 0s", "7s latency etcd-1 etcd-0 0s",
		"8s crash apiserver-0",
		"8.5s slow watcher-0 10ms",
		"9s compact 3", "9s heal watcher-0", "9s start apiserver-0",
		"10s restart etcd-2",
		"12s move",
		"14s crash etcd-0", "14s crash etcd-2",
		"15s start etcd-0", "15s start etcd-2",
		"17s restart apiserver-0",
		"17.5s break apiserver-1 expired",
		"18.5s stall watcher-0",
		"19.5s heal watcher-0",
		"20s latency etcd-0 etcd-1 30ms", "20s latency etcd-1 etcd-0 30ms", "20s latency etcd-1 etcd-2 30ms", "20s latency etcd-2 etcd-1 30ms",
		"20.5s defragment etcd-2",
		"21s latency etcd-0 etcd-1 0s", "21s latency etcd-1 etcd-0 0s", "21s latency etcd-1 etcd-2 0s", "21s latency etcd-2 etcd-1 0s",
		"22s start compactor etcd-0 1s", "23s stop compactor etcd-0",
		"23.5s hold apiserver-0", "24s unhold apiserver-0",
		"25s break streams apiserver-1",
		"26s lose apiserver-1 true", "27s lose apiserver-1 false",
		"28s rate apiserver-0 etcd-0 4096", "29s rate apiserver-0 etcd-0 0",
		"30s break apiserver-0 closed",
		"31s break apiserver-0 failed",
		"32s fail apiserver-0 list true", "33s fail apiserver-0 list false",
		"34s fail apiserver-0 decode true", "35s fail apiserver-0 decode false",
		"36s fail apiserver-0 transform true", "37s fail apiserver-0 transform false",
		"38s expire apiserver-0 2s", "39s expire apiserver-0 0s",
		"40s refuse apiserver-1 true", "41s refuse apiserver-1 false",
		"42s disk etcd-1 20ms", "43s disk etcd-1 0s",
		"44s cut power etcd-2 some", "45s start etcd-2",
		"47s clock apiserver-0 -1h0m0s", "48s clock apiserver-0 0s",
	}, calls)
	possible := slices.DeleteFunc(Kinds(), func(kind Kind) bool { return kind.MembersMost == 1 })
	for _, kind := range possible {
		require.Equal(t, 1, report.Counts[kind.Name], kind.Name)
	}
	second := int64(time.Second)
	require.Len(t, report.Fired, len(possible))
	require.Equal(t, model.Fault{
		Name: "etcd-crash", Begin: second, End: 4 * second, Note: "member=etcd-0 down=2s",
		Processes: []string{"etcd-0"},
	}, report.Fired[0], "a crash has healed when the member is up again")
	require.Contains(t, report.Fired, model.Fault{
		Name: "compaction", Begin: 9 * second, End: 9 * second, Note: "revision=current-3 at revision 97",
		Processes: []string{"etcd-0", "etcd-1", "etcd-2"},
	})
	require.Contains(t, report.Fired, model.Fault{
		Name: "leader-move", Begin: 12 * second, End: 13 * second, Note: "from etcd-0 to etcd-1",
		Processes: []string{"etcd-0", "etcd-1", "etcd-2"},
	})
}

func TestOnlyAMemberThatIsAloneIsRestored(t *testing.T) {
	plan := Plan{{Kind: "etcd-restore", Member: "etcd-0", Bump: 1000}}
	report := Report{}
	synctest.Test(t, func(t *testing.T) {
		surface := newFakeSurface()
		surface.members = []string{"etcd-0"}
		var err error
		report, err = NewEngine(plan, surface, surface.began).Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, []call{{0, "restore etcd-0 1000"}}, surface.calls)
	})
	require.Equal(t, 1, report.Counts["etcd-restore"])
	_, report, err := carryOut(t, plan.String(), nil)
	require.NoError(t, err)
	require.Equal(t, "it takes at most 1 etcd members and there are 3", report.NotFired[0].Reason)
}

func TestAFaultThatCannotHappenIsReportedWithItsReason(t *testing.T) {
	surface, report, err := carryOut(t, `
at 1s etcd-crash member=etcd-0 down=5s
at 2s etcd-crash member=etcd-0 down=1s
at 3s etcd-restart member=etcd-0
at 3s quorum-loss survivor=etcd-2 down=1s
at 4s reset from=apiserver-0 to=etcd-0
at 4s latency from=etcd-0 to=etcd-1 delay=1ms for=3s
at 5s latency from=etcd-1 to=etcd-0 delay=1ms for=1s
at 6.5s etcd-restart member=etcd-0
at 7.5s etcd-restart member=etcd-0
at 9s quorum-loss survivor=etcd-9 down=1s
`, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"etcd-crash": 1, "latency": 1, "etcd-restart": 1}, report.Counts)
	var reasons []string
	for _, skipped := range report.NotFired {
		reasons = append(reasons, skipped.Fault.At.String()+" "+skipped.Reason)
	}
	require.Equal(t, []string{
		"2s etcd-0 is held by etcd-crash",
		"3s etcd-0 is held by etcd-crash",
		"3s etcd-0 is held by etcd-crash",
		"4s etcd-0 is held by etcd-crash",
		"5s the latency of etcd-0 and etcd-1 is held by latency",
		"6.5s etcd-0 is held by etcd-crash",
		`9s expected a survivor among [etcd-0 etcd-1 etcd-2], found "etcd-9"`,
	}, reasons)
	require.Empty(t, surface.wrong)
}

func TestAFaultBeginsWhenItsPointIsReached(t *testing.T) {
	surface, report, err := carryOut(t, `
between 2s and 8s on list 30 of apiserver-0 compaction revision=deletion
between 3s and 9s on watch 10 of apiserver-1 stalled-consumer client=watcher-0 for=2s
between 10s and 12s on deletion 50 of apiserver-0 watch-close server=apiserver-0
between 12.1s and 15s on progress 10 of apiserver-0 etcd-crash member=etcd-0 down=1s
at 12.5s etcd-crash member=etcd-0 down=3s
`, nil)
	require.NoError(t, err)
	require.Empty(t, surface.wrong, "what begins at a point heals, and no operation is kept waiting")
	var calls []string
	for _, call := range surface.calls {
		calls = append(calls, call.at.String()+" "+call.what)
	}
	require.Equal(t, []string{
		"2s await list 30 of apiserver-0",
		"3s await watch 10 of apiserver-1",
		"4s stall watcher-0",
		"4s release",
		"5s compact -2",
		"5s release",
		"6s heal watcher-0",
		"10s await deletion 50 of apiserver-0",
		"12s release",
		"12.1s await progress 10 of apiserver-0",
		"12.5s crash etcd-0",
		"13.1s release",
		"15.5s start etcd-0",
	}, calls)
	require.Equal(t, map[string]int{"compaction": 1, "stalled-consumer": 1, "etcd-crash": 1}, report.Counts)
	require.Contains(t, report.Fired, model.Fault{
		Name: "compaction", Begin: int64(5 * time.Second), End: int64(5 * time.Second),
		Note:      "revision=deletion at revision 102 on list 30 of apiserver-0",
		Processes: []string{"etcd-0", "etcd-1", "etcd-2"},
	})
	var reasons []string
	for _, skipped := range report.NotFired {
		reasons = append(reasons, skipped.Reason)
	}
	require.Equal(t, []string{"there was no deletion 50 of apiserver-0 from 10s to 12s", "etcd-0 is held by etcd-crash"}, reasons)
}

func TestCuttingARunShortLetsGoOfWhatWaitsForAPoint(t *testing.T) {
	surface, report, err := carryOut(t, `
between 1s and 40s on list 300 of apiserver-0 watch-break server=apiserver-0
between 1s and 40s on list 10 of apiserver-0 stalled-consumer client=watcher-0 for=30s
`, func(*fakeSurface) context.Context {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(4*time.Second, cancel)
		return ctx
	})
	require.NoError(t, err)
	require.Empty(t, surface.wrong)
	require.Equal(t, map[string]int{"stalled-consumer": 1}, report.Counts)
	require.Equal(t, int64(4*time.Second), report.Fired[0].End)
	require.Equal(t, "the run ended before its point was reached", report.NotFired[0].Reason)
}

// TestAnotherPlanTakesThePlaceOfWhatHasNotBegun changes the plan while one fault lasts. The
// engine is asleep until 5s, so that what is new begins then or later.
func TestAnotherPlanTakesThePlaceOfWhatHasNotBegun(t *testing.T) {
	parsed := func(text string) Plan {
		plan, err := Parse(text)
		require.NoError(t, err)
		return plan
	}
	synctest.Test(t, func(t *testing.T) {
		surface := newFakeSurface()
		engine := NewEngine(parsed("at 1s stalled-consumer client=watcher-0 for=4s\nat 9s leader-move\nat 10s leader-move\n"), surface, surface.began)
		go func() {
			time.Sleep(2 * time.Second)
			require.Equal(t, -1, engine.Replan(parsed("at 3s compaction revision=current\n")))
		}()
		report, err := engine.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 5*time.Second, time.Since(surface.began))
		require.Equal(t, map[string]int{"stalled-consumer": 1, "compaction": 1}, report.Counts)
		require.Empty(t, report.NotFired)
		require.Zero(t, engine.Replan(parsed("at 3s leader-move\n")), "there is nobody to begin it")
	})
}

func TestOneFaultMayBeginWhereAnotherEnds(t *testing.T) {
	_, report, err := carryOut(t, `
at 2s slow-consumer client=watcher-0 delay=1ms for=1s
at 1s stalled-consumer client=watcher-0 for=1s
`, nil)
	require.NoError(t, err)
	require.Empty(t, report.NotFired)
}

const troubled = `
at 1s etcd-crash member=etcd-0 down=2s
at 1s partition from=apiserver-0 to=etcd-1 for=2s
at 1s stalled-consumer client=watcher-0 for=20s
at 2s quorum-loss survivor=etcd-1 down=1s
at 2s apiserver-crash server=apiserver-0 down=1s
at 5s quorum-loss survivor=etcd-1 down=1s
`

func TestAFailingActionKeepsNothingElseFromHealing(t *testing.T) {
	for _, failing := range []string{"crash etcd-0", "crash etcd-2", "crash apiserver", "partition", "stall", "start etcd-0", "start", "heal"} {
		for _, times := range []int{1, 4} {
			surface, _, err := carryOut(t, troubled, func(surface *fakeSurface) context.Context {
				surface.fails[failing] = times
				return context.Background()
			})
			require.NoError(t, err, "%s fails %d times", failing, times)
			require.Empty(t, surface.wrong, "%s fails %d times", failing, times)
		}
	}
}

func TestAFaultThatWillNotHealIsAnError(t *testing.T) {
	surface, _, err := carryOut(t, troubled, func(surface *fakeSurface) context.Context {
		surface.fails["heal apiserver-0"] = 1000
		return context.Background()
	})
	require.EqualError(t, err, `faults: "at 1s partition from=apiserver-0 to=etcd-1 for=2s" could not be healed: it broke`)
	require.Len(t, surface.wrong, 1)
}

func TestCuttingARunShortHealsAtOnce(t *testing.T) {
	surface, report, err := carryOut(t, troubled, func(surface *fakeSurface) context.Context {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(1500*time.Millisecond, cancel)
		return ctx
	})
	require.NoError(t, err)
	require.Empty(t, surface.wrong)
	require.Equal(t, map[string]int{"etcd-crash": 1, "partition": 1, "stalled-consumer": 1}, report.Counts)
	require.Len(t, report.NotFired, 3)
	for _, skipped := range report.NotFired {
		require.Equal(t, "the run ended before its time", skipped.Reason)
	}
	for _, fired := range report.Fired {
		require.LessOrEqual(t, fired.End, int64(2500*time.Millisecond))
	}
}

func TestGeneratedPlansFireInFull(t *testing.T) {
	for seed := range uint64(200) {
		plan, err := Generate(rand.New(rand.NewPCG(seed, 0)), generatorConfig())
		require.NoError(t, err)
		surface, report, err := carryOut(t, plan.String(), nil)
		require.NoError(t, err)
		require.Empty(t, report.NotFired, plan)
		require.Empty(t, surface.wrong)
		require.Len(t, report.Fired, len(plan))
		for _, fired := range report.Fired {
			require.LessOrEqual(t, fired.End, int64(generatorConfig().HealBy))
		}
	}
}
