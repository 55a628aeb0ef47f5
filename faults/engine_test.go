package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

// call is one call of a method, by its time since the start.
type call struct {
	at   time.Duration
	what string
}

// fakeSurface writes down every call with its time. Calls that take time take a
// second. It knows what is wrong at any time, and fails the calls it is told to.
type fakeSurface struct {
	began time.Time

	mu    sync.Mutex
	calls []call
	wrong map[string]int // what has not healed
	fails map[string]int // by the beginning of the call, how often
}

func newFakeSurface() *fakeSurface {
	return &fakeSurface{began: time.Now(), wrong: map[string]int{}, fails: map[string]int{}}
}

// call records a call, and returns an error if it is to fail.
func (s *fakeSurface) call(format string, arguments ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	what := fmt.Sprintf(format, arguments...)
	s.calls = append(s.calls, call{time.Since(s.began), what})
	for prefix := range s.fails {
		if strings.HasPrefix(what, prefix) && s.fails[prefix] > 0 {
			s.fails[prefix]--
			return errors.New("it broke")
		}
	}
	return nil
}

func (s *fakeSurface) damage(what string, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong[what] += by; s.wrong[what] <= 0 {
		delete(s.wrong, what)
	}
}

func (s *fakeSurface) Members() []string { return topology().Members }

// Await gives a point that is reached every 100 ms, and forgets it once it
// is released.
func (s *fakeSurface) Await(point, process string, number int) Stop {
	_ = s.call("await %s %d of %s", point, number, process)
	s.damage("stop", 1)
	stop := &fakeStop{surface: s, reached: make(chan struct{})}
	time.AfterFunc(time.Duration(number)*100*time.Millisecond, func() { close(stop.reached) })
	return stop
}

type fakeStop struct {
	surface *fakeSurface
	reached chan struct{}
	once    sync.Once
}

func (s *fakeStop) Reached() <-chan struct{} { return s.reached }

func (s *fakeStop) Release() {
	s.once.Do(func() {
		_ = s.surface.call("release")
		s.surface.damage("stop", -1)
	})
}

func (s *fakeSurface) Compact(ctx context.Context, back int64) (int64, error) {
	return 100 - back, s.call("compact %d", back)
}

func (s *fakeSurface) RestartMember(ctx context.Context, member string) error {
	return s.slowly(ctx, s.call("restart %s", member))
}

func (s *fakeSurface) CrashMember(member string) error {
	s.damage(member, 1)
	return s.call("crash %s", member)
}

func (s *fakeSurface) StartMember(ctx context.Context, member string) error {
	if err := s.slowly(ctx, s.call("start %s", member)); err != nil {
		return err
	}
	s.damage(member, -1)
	return nil
}

func (s *fakeSurface) MoveLeader(ctx context.Context) (string, string, error) {
	return "etcd-0", "etcd-1", s.slowly(ctx, s.call("move"))
}

func (s *fakeSurface) SetLatency(from, to string, delay time.Duration) error {
	s.set("latency "+from+" "+to, delay > 0)
	return s.call("latency %s %s %v", from, to, delay)
}

func (s *fakeSurface) Defragment(ctx context.Context, member string) error {
	return s.slowly(ctx, s.call("defragment %s", member))
}

func (s *fakeSurface) StartCompactor(member string, period time.Duration) error {
	s.set("compactor "+member, true)
	return s.call("start compactor %s %v", member, period)
}

func (s *fakeSurface) StopCompactor(member string) error {
	s.set("compactor "+member, false)
	return s.call("stop compactor %s", member)
}

func (s *fakeSurface) HoldWatchStreams(server string) error {
	s.set("streams "+server, true)
	return s.call("hold %s", server)
}

func (s *fakeSurface) ReleaseWatchStreams(server string) error {
	s.set("streams "+server, false)
	return s.call("unhold %s", server)
}

func (s *fakeSurface) LoseProgress(server string, lose bool) error {
	s.set("progress "+server, lose)
	return s.call("lose %s %v", server, lose)
}

func (s *fakeSurface) BreakWatchStreams(server string) (int, error) {
	return 1, s.call("break streams %s", server)
}

func (s *fakeSurface) Fail(server string, what Failure, fails bool) error {
	s.set(string(what)+" "+server, fails)
	return s.call("fail %s %s %v", server, what, fails)
}

func (s *fakeSurface) Expire(server string, ttl time.Duration) error {
	s.set("expire "+server, ttl > 0)
	return s.call("expire %s %v", server, ttl)
}

func (s *fakeSurface) Refuse(server string, refuse bool) error {
	s.set("refuse "+server, refuse)
	return s.call("refuse %s %v", server, refuse)
}

func (s *fakeSurface) SetRate(one, other string, rate int64) error {
	s.set("rate "+link(Fault{From: one, To: other}), rate > 0)
	return s.call("rate %s %s %d", one, other, rate)
}

func (s *fakeSurface) Partition(one, other string) error {
	s.set(link(Fault{From: one, To: other}), true)
	return s.call("partition %s %s", one, other)
}

func (s *fakeSurface) PartitionOneWay(from, to string) error {
	s.set(link(Fault{From: from, To: to}), true)
	return s.call("one-way %s %s", from, to)
}

func (s *fakeSurface) BlackHole(from, to string) error {
	s.set(link(Fault{From: from, To: to}), true)
	return s.call("black-hole %s %s", from, to)
}

func (s *fakeSurface) HealLink(one, other string) error {
	if err := s.call("heal %s %s", one, other); err != nil {
		return err
	}
	s.set(link(Fault{From: one, To: other}), false)
	return nil
}

func (s *fakeSurface) Reset(one, other string) (int, error) {
	return 2, s.call("reset %s %s", one, other)
}

func (s *fakeSurface) RestartServer(ctx context.Context, server string) error {
	return s.slowly(ctx, s.call("restart %s", server))
}

func (s *fakeSurface) CrashServer(server string) error {
	s.damage(server, 1)
	return s.call("crash %s", server)
}

func (s *fakeSurface) StartServer(ctx context.Context, server string) error {
	return s.StartMember(ctx, server)
}

func (s *fakeSurface) BreakWatch(server string, how WatchEnd) error {
	return s.call("break %s %s", server, how)
}

func (s *fakeSurface) SlowConsumer(client string, delay time.Duration) error {
	s.set(client, true)
	return s.call("slow %s %v", client, delay)
}

func (s *fakeSurface) StallConsumer(client string) error {
	s.set(client, true)
	return s.call("stall %s", client)
}

func (s *fakeSurface) HealConsumer(client string) error {
	s.set(client, false)
	return s.call("heal %s", client)
}

func (s *fakeSurface) set(what string, wrong bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if wrong {
		s.wrong[what] = 1
	} else {
		delete(s.wrong, what)
	}
}

func (s *fakeSurface) slowly(ctx context.Context, err error) error {
	if err == nil && !sleepUntil(ctx, time.Now().Add(time.Second)) {
		return ctx.Err()
	}
	return err
}

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
		report, err = Run(ctx, plan, surface, surface.began)
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
	}, calls)
	for _, kind := range Kinds() {
		require.Equal(t, 1, report.Counts[kind.Name], kind.Name)
	}
	second := int64(time.Second)
	require.Len(t, report.Fired, len(Kinds()))
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
