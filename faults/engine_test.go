package faults

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

// carryOut runs a plan's text on a fake surface that prepare may have changed, and cuts the run short
// after a time, unless that is 0.
func carryOut(t *testing.T, text string, cut time.Duration, prepare func(*fakeSurface)) (surface *fakeSurface, report Report, err error) {
	t.Helper()
	plan, parseErr := Parse(text)
	require.NoError(t, parseErr)
	synctest.Test(t, func(t *testing.T) {
		surface = newFakeSurface()
		if prepare != nil {
			prepare(surface)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if cut > 0 {
			time.AfterFunc(cut, cancel)
		}
		report, err = NewEngine(plan, surface, surface.began).Run(ctx)
	})
	return surface, report, err
}

// TestEachKindBeginsAndEnds carries out every kind alone. A comma separates calls at one instant,
// which may come in any order.
func TestEachKindBeginsAndEnds(t *testing.T) {
	tested := map[string]bool{}
	for _, row := range []struct{ fault, begins, ends, note string }{
		{"compaction revision=current-3", "compact 3", "", "revision=current-3 at revision 97"},
		{"compaction revision=deletion", "compact -2", "", "revision=deletion at revision 102"},
		{"etcd-restart member=etcd-2", "restart etcd-2", "", ""},
		{"etcd-crash member=etcd-0 down=2s", "crash etcd-0", "start etcd-0", ""},
		{"leader-move", "move", "", "from etcd-0 to etcd-1"},
		{"quorum-loss survivor=etcd-1 down=2s", "crash etcd-0,crash etcd-2", "start etcd-0,start etcd-2", ""},
		{"etcd-lag member=etcd-1 delay=30ms for=2s",
			"latency etcd-0 etcd-1 30ms,latency etcd-1 etcd-0 30ms,latency etcd-1 etcd-2 30ms,latency etcd-2 etcd-1 30ms",
			"latency etcd-0 etcd-1 0s,latency etcd-1 etcd-0 0s,latency etcd-1 etcd-2 0s,latency etcd-2 etcd-1 0s", ""},
		{"etcd-defrag member=etcd-2", "defragment etcd-2", "", ""},
		{"auto-compaction member=etcd-0 period=1s for=2s", "start compactor etcd-0 1s", "stop compactor etcd-0", ""},
		{"stream-stall server=apiserver-0 for=2s", "hold apiserver-0 true", "hold apiserver-0 false", ""},
		{"stream-break server=apiserver-1", "break streams apiserver-1", "", "server=apiserver-1 1 stream"},
		{"progress-loss server=apiserver-1 for=2s", "lose apiserver-1 true", "lose apiserver-1 false", ""},
		{"latency from=etcd-0 to=etcd-1 delay=50ms for=2s",
			"latency etcd-0 etcd-1 50ms,latency etcd-1 etcd-0 50ms", "latency etcd-0 etcd-1 0s,latency etcd-1 etcd-0 0s", ""},
		{"partition from=apiserver-0 to=etcd-0 for=2s", "partition apiserver-0 etcd-0", "heal apiserver-0 etcd-0", ""},
		{"partition-one-way from=etcd-0 to=apiserver-0 for=2s", "one-way etcd-0 apiserver-0", "heal etcd-0 apiserver-0", ""},
		{"black-hole from=etcd-0 to=apiserver-0 for=2s",
			"black-hole etcd-0 apiserver-0", "heal etcd-0 apiserver-0,reset etcd-0 apiserver-0", ""},
		{"reset from=apiserver-1 to=etcd-0", "reset apiserver-1 etcd-0", "", "from=apiserver-1 to=etcd-0 2 connections"},
		{"slow-link from=apiserver-0 to=etcd-0 rate=4096 for=2s", "rate apiserver-0 etcd-0 4096", "rate apiserver-0 etcd-0 0", ""},
		{"apiserver-restart server=apiserver-0", "restart apiserver-0", "", ""},
		{"apiserver-crash server=apiserver-0 down=2s", "crash apiserver-0", "start apiserver-0", ""},
		{"program-crash program=controller down=2s", "crash controller", "start controller", ""},
		{"program-restart program=controller down=2s", "stop controller", "start controller", ""},
		{"watch-break server=apiserver-1", "break apiserver-1 expired", "", ""},
		{"watch-close server=apiserver-0", "break apiserver-0 closed", "", ""},
		{"watch-error server=apiserver-0", "break apiserver-0 failed", "", ""},
		{"list-failure server=apiserver-0 for=2s", "fail apiserver-0 list true", "fail apiserver-0 list false", ""},
		{"decode-failure server=apiserver-0 for=2s", "fail apiserver-0 decode true", "fail apiserver-0 decode false", ""},
		{"transform-failure server=apiserver-0 for=2s", "fail apiserver-0 transform true", "fail apiserver-0 transform false", ""},
		{"expiring-writes server=apiserver-0 ttl=2s for=2s", "expire apiserver-0 2s", "expire apiserver-0 0s", ""},
		{"certificate-expiry server=apiserver-1 for=2s", "certificate apiserver-1 true", "certificate apiserver-1 false", ""},
		{"apiserver-unreachable server=apiserver-1 for=2s", "refuse apiserver-1 true", "refuse apiserver-1 false", ""},
		{"slow-consumer client=watcher-0 delay=10ms for=2s", "slow watcher-0 10ms", "heal watcher-0", ""},
		{"stalled-consumer client=watcher-0 for=2s", "stall watcher-0", "heal watcher-0", ""},
		{"slow-disk member=etcd-1 delay=20ms for=2s", "disk etcd-1 20ms", "disk etcd-1 0s", ""},
		{"power-loss member=etcd-2 keep=some down=2s", "cut power etcd-2 some", "start etcd-2", "member=etcd-2 keep=some down=2s 3 sectors lost"},
		{"etcd-restore member=etcd-0 bump=1000", "restore etcd-0 1000", "", ""},
		{"clock-jump process=apiserver-0 by=-1h0m0s for=2s", "clock apiserver-0 -1h0m0s", "clock apiserver-0 0s", ""},
		{"watch-stall program=controller watches=pods for=2s", "stall watches controller pods", "resume watches controller", "program=controller watches=pods for=2s withholds nodes, pods"},
		{"watch-lag program=controller every=3s for=2s", "lag watches controller 3s", "lag watches controller 0s", ""},
		{"watch-timeout program=controller watches=all", "end watches controller all", "", "program=controller watches=all 2 streams"},
		{"request-failure program=controller code=503 one-in=4 for=2s", "fail requests controller 503 4", "fail requests controller 0 1", ""},
		{"slow-requests program=controller requests=pods delay=3s for=2s", `delay requests controller "pods" 3s`, `delay requests controller "" 0s`, ""},
		{"storage-restart server=apiserver-1", "replace apiserver-1", "", ""},
		{"etcd-hang member=etcd-1 for=2s", "hang etcd-1 true", "hang etcd-1 false", ""},
		{"slow-host process=etcd-2 delay=40ms for=2s", "host etcd-2 40ms", "host etcd-2 0s", ""},
		{"stream-throttle server=apiserver-0 rate=512 for=2s", "throttle apiserver-0 512", "throttle apiserver-0 0", ""},
	} {
		name, arguments, _ := strings.Cut(row.fault, " ")
		kind, _ := Lookup(name)
		tested[name] = true
		surface, report, err := carryOut(t, "at 1s "+row.fault, 0, func(surface *fakeSurface) {
			if kind.MaxMembers == 1 {
				surface.members = []string{"etcd-0"}
			}
		})
		require.NoError(t, err)
		require.Empty(t, surface.wrong, row.fault)
		require.Equal(t, map[string]int{name: 1}, report.Counts)
		require.Equal(t, cmp.Or(row.note, arguments), report.Fired[0].Note)
		at := map[time.Duration][]string{}
		for _, call := range surface.calls {
			at[call.at] = append(at[call.at], call.what)
		}
		require.ElementsMatch(t, strings.Split(row.begins, ","), at[time.Second])
		delete(at, time.Second)
		if row.ends != "" {
			require.ElementsMatch(t, strings.Split(row.ends, ","), at[3*time.Second])
			delete(at, 3*time.Second)
		}
		require.Empty(t, at)
	}
	require.Len(t, tested, len(Kinds()))
}

func TestReportsSayWhenAndOnWhatFaultsActed(t *testing.T) {
	_, report, err := carryOut(t, `
at 1s etcd-crash member=etcd-0 down=2s
at 5s leader-move
at 7s reset from=apiserver-0 to=etcd-0
`, 0, nil)
	require.NoError(t, err)
	second := int64(time.Second)
	require.Equal(t, []model.Fault{
		// A crash has healed when the member is up again.
		{Name: "etcd-crash", Begin: second, End: 4 * second, Note: "member=etcd-0 down=2s", Processes: []string{"etcd-0"}},
		{Name: "leader-move", Begin: 5 * second, End: 6 * second, Note: "from etcd-0 to etcd-1", Processes: topology().Members},
		{Name: "reset", Begin: 7 * second, End: 7 * second, Note: "from=apiserver-0 to=etcd-0 2 connections",
			Processes: []string{"apiserver-0", "etcd-0"}},
	}, report.Fired)
}

// A fault may begin at the instant when another one on the same thing ends, as the last two do.
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
at 10s etcd-restore member=etcd-0 bump=1
at 12s slow-consumer client=watcher-0 delay=1ms for=1s
at 11s stalled-consumer client=watcher-0 for=1s
`, 0, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"etcd-crash": 1, "latency": 1, "etcd-restart": 1, "slow-consumer": 1, "stalled-consumer": 1}, report.Counts)
	var reasons []string
	for _, skipped := range report.NotFired {
		reasons = append(reasons, skipped.Fault.At.String()+" "+skipped.Reason)
	}
	require.Equal(t, []string{
		"2s etcd-0 is in use by etcd-crash",
		"3s etcd-0 is in use by etcd-crash",
		"3s etcd-0 is in use by etcd-crash",
		"4s etcd-0 is in use by etcd-crash",
		"5s the latency of etcd-0 and etcd-1 is in use by latency",
		"6.5s etcd-0 is in use by etcd-crash",
		`9s expected a survivor among [etcd-0 etcd-1 etcd-2], found "etcd-9"`,
		"10s it takes at most 1 etcd member and there are 3",
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
`, 0, nil)
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
	require.Equal(t, []string{"there was no deletion 50 of apiserver-0 from 10s to 12s", "etcd-0 is in use by etcd-crash"}, reasons)
}

func TestCuttingARunShortLetsGoOfWhatWaitsForAPoint(t *testing.T) {
	surface, report, err := carryOut(t, `
between 1s and 40s on list 300 of apiserver-0 watch-break server=apiserver-0
between 1s and 40s on list 10 of apiserver-0 stalled-consumer client=watcher-0 for=30s
`, 4*time.Second, nil)
	require.NoError(t, err)
	require.Empty(t, surface.wrong)
	require.Equal(t, map[string]int{"stalled-consumer": 1}, report.Counts)
	require.Equal(t, int64(4*time.Second), report.Fired[0].End)
	require.Equal(t, "the run ended before its point was reached", report.NotFired[0].Reason)
}

// TestAnotherPlanTakesThePlaceOfWhatHasNotBegun replaces the plan while one fault lasts. The engine
// sleeps until 5s, so new faults begin then or later.
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

const sixFaults = `
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
			surface, _, err := carryOut(t, sixFaults, 0, func(surface *fakeSurface) { surface.fails[failing] = times })
			require.NoError(t, err, "%s fails %d times", failing, times)
			require.Empty(t, surface.wrong, "%s fails %d times", failing, times)
		}
	}
}

func TestAFaultThatWillNotHealIsAnError(t *testing.T) {
	surface, _, err := carryOut(t, sixFaults, 0, func(surface *fakeSurface) { surface.fails["heal apiserver-0"] = 1000 })
	require.EqualError(t, err, `faults: "at 1s partition from=apiserver-0 to=etcd-1 for=2s" could not be healed: it broke`)
	require.Len(t, surface.wrong, 1)
}

func TestCuttingARunShortHealsAtOnce(t *testing.T) {
	surface, report, err := carryOut(t, sixFaults, 1500*time.Millisecond, nil)
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
		plan := generated(t, seed, generatorConfig())
		surface, report, err := carryOut(t, plan.String(), 0, nil)
		require.NoError(t, err)
		require.Empty(t, report.NotFired, plan)
		require.Empty(t, surface.wrong)
		require.Len(t, report.Fired, len(plan))
		for _, fired := range report.Fired {
			require.LessOrEqual(t, fired.End, int64(generatorConfig().HealBy))
		}
	}
}
