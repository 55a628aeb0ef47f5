package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
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

	members []string // nil for those of the topology
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

func (s *fakeSurface) Members() []string {
	if s.members != nil {
		return s.members
	}
	return topology().Members
}

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

func (s *fakeSurface) SetDiskDelay(member string, delay time.Duration) error {
	s.set("disk "+member, delay > 0)
	return s.call("disk %s %v", member, delay)
}

func (s *fakeSurface) CutPower(member string, keep Keep) (int, error) {
	s.damage(member, 1)
	return 3, s.call("cut power %s %s", member, keep)
}

func (s *fakeSurface) RestoreMember(ctx context.Context, member string, bump int64) error {
	return s.slowly(ctx, s.call("restore %s %d", member, bump))
}

func (s *fakeSurface) SetClock(process string, ahead time.Duration) error {
	s.set("clock "+process, ahead != 0)
	return s.call("clock %s %v", process, ahead)
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
