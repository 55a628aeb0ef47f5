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

// fakeSurface records every call with its time, tracks what has not healed, and fails calls on
// demand.
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

// Await returns a gate of a point that is reached every 100 ms.
func (s *fakeSurface) Await(point, process string, number int) Gate {
	_ = s.call("await %s %d of %s", point, number, process)
	s.damage("gate", 1)
	gate := &fakeGate{surface: s, reached: make(chan struct{})}
	time.AfterFunc(time.Duration(number)*100*time.Millisecond, func() { close(gate.reached) })
	return gate
}

type fakeGate struct {
	surface *fakeSurface
	reached chan struct{}
	once    sync.Once
}

func (s *fakeGate) Reached() <-chan struct{} { return s.reached }

func (s *fakeGate) Release() {
	s.once.Do(func() {
		_ = s.surface.call("release")
		s.surface.damage("gate", -1)
	})
}

func (s *fakeSurface) Compact(_ context.Context, back int64) (int64, error) {
	return 100 - back, s.call("compact %d", back)
}
func (s *fakeSurface) MoveLeader(ctx context.Context) (string, string, error) {
	return "etcd-0", "etcd-1", s.slowly(ctx, "move")
}
func (s *fakeSurface) RestartMember(ctx context.Context, m string) error {
	return s.slowly(ctx, "restart %s", m)
}
func (s *fakeSurface) RestartServer(ctx context.Context, a string) error {
	return s.slowly(ctx, "restart %s", a)
}
func (s *fakeSurface) Defragment(ctx context.Context, m string) error {
	return s.slowly(ctx, "defragment %s", m)
}
func (s *fakeSurface) RestoreMember(ctx context.Context, m string, bump int64) error {
	return s.slowly(ctx, "restore %s %d", m, bump)
}
func (s *fakeSurface) CrashMember(m string) error  { return s.down(m, "crash %s", m) }
func (s *fakeSurface) CrashServer(a string) error  { return s.down(a, "crash %s", a) }
func (s *fakeSurface) CrashProgram(a string) error { return s.down(a, "crash %s", a) }
func (s *fakeSurface) StopProgram(a string) error  { return s.down(a, "stop %s", a) }
func (s *fakeSurface) StartProgram(a string) error { return s.StartMember(context.Background(), a) }
func (s *fakeSurface) StallWatches(a, resources string) ([]string, error) {
	return []string{"nodes", "pods"}, s.set("watches "+a, true, "stall watches %s %s", a, resources)
}
func (s *fakeSurface) ResumeWatches(a string) error {
	return s.set("watches "+a, false, "resume watches %s", a)
}
func (s *fakeSurface) LagWatches(a string, every time.Duration) error {
	return s.set("pace of watches "+a, every != 0, "lag watches %s %v", a, every)
}
func (s *fakeSurface) EndWatches(a, resource string) (int, error) {
	return 2, s.call("end watches %s %s", a, resource)
}
func (s *fakeSurface) DelayRequests(a, resources string, delay time.Duration) error {
	return s.set("time of requests "+a, delay != 0, "delay requests %s %q %v", a, resources, delay)
}
func (s *fakeSurface) FailRequests(a string, code int, oneIn int64) error {
	return s.set("requests "+a, code != 0, "fail requests %s %d %d", a, code, oneIn)
}
func (s *fakeSurface) CutPower(m string, keep Keep) (int, error) {
	return 3, s.down(m, "cut power %s %s", m, keep)
}
func (s *fakeSurface) StartServer(ctx context.Context, a string) error { return s.StartMember(ctx, a) }
func (s *fakeSurface) BreakWatchStreams(a string) (int, error) {
	return 1, s.call("break streams %s", a)
}
func (s *fakeSurface) BreakWatch(a string, how WatchEnd) error { return s.call("break %s %s", a, how) }
func (s *fakeSurface) Reset(one, other string) (int, error) {
	return 2, s.call("reset %s %s", one, other)
}
func (s *fakeSurface) StartMember(ctx context.Context, m string) error {
	if err := s.slowly(ctx, "start %s", m); err != nil {
		return err
	}
	s.damage(m, -1)
	return nil
}
func (s *fakeSurface) SetLatency(from, to string, delay time.Duration) error {
	return s.set("latency "+from+" "+to, delay > 0, "latency %s %s %v", from, to, delay)
}
func (s *fakeSurface) SetDiskDelay(m string, delay time.Duration) error {
	return s.set("disk "+m, delay > 0, "disk %s %v", m, delay)
}
func (s *fakeSurface) Hang(m string, hang bool) error {
	return s.set("hang "+m, hang, "hang %s %v", m, hang)
}
func (s *fakeSurface) SlowHost(process string, delay time.Duration) error {
	return s.set("host "+process, delay > 0, "host %s %v", process, delay)
}
func (s *fakeSurface) ThrottleWatchStreams(a string, rate int64) error {
	return s.set("throttle "+a, rate > 0, "throttle %s %d", a, rate)
}
func (s *fakeSurface) ReplaceStorage(a string) error { return s.call("replace %s", a) }
func (s *fakeSurface) SetClock(process string, ahead time.Duration) error {
	return s.set("clock "+process, ahead != 0, "clock %s %v", process, ahead)
}
func (s *fakeSurface) StartCompactor(m string, period time.Duration) error {
	return s.set("compactor "+m, true, "start compactor %s %v", m, period)
}
func (s *fakeSurface) StopCompactor(m string) error {
	return s.set("compactor "+m, false, "stop compactor %s", m)
}
func (s *fakeSurface) HoldWatchStreams(a string, hold bool) error {
	return s.set("streams "+a, hold, "hold %s %v", a, hold)
}
func (s *fakeSurface) LoseProgress(a string, lose bool) error {
	return s.set("progress "+a, lose, "lose %s %v", a, lose)
}
func (s *fakeSurface) Fail(a string, what Failure, fails bool) error {
	return s.set(string(what)+" "+a, fails, "fail %s %s %v", a, what, fails)
}
func (s *fakeSurface) Expire(a string, ttl time.Duration) error {
	return s.set("expire "+a, ttl > 0, "expire %s %v", a, ttl)
}
func (s *fakeSurface) Refuse(a string, refuse bool) error {
	return s.set("refuse "+a, refuse, "refuse %s %v", a, refuse)
}
func (s *fakeSurface) ExpireCertificate(a string, expired bool) error {
	return s.set("certificate "+a, expired, "certificate %s %v", a, expired)
}
func (s *fakeSurface) SetRate(one, other string, rate int64) error {
	return s.set("rate "+link(one, other), rate > 0, "rate %s %s %d", one, other, rate)
}
func (s *fakeSurface) Partition(one, other string) error {
	return s.set(link(one, other), true, "partition %s %s", one, other)
}
func (s *fakeSurface) PartitionOneWay(from, to string) error {
	return s.set(link(from, to), true, "one-way %s %s", from, to)
}
func (s *fakeSurface) BlackHole(from, to string) error {
	return s.set(link(from, to), true, "black-hole %s %s", from, to)
}
func (s *fakeSurface) HealLink(one, other string) error {
	return s.set(link(one, other), false, "heal %s %s", one, other)
}
func (s *fakeSurface) SlowConsumer(c string, delay time.Duration) error {
	return s.set(c, true, "slow %s %v", c, delay)
}
func (s *fakeSurface) StallConsumer(c string) error { return s.set(c, true, "stall %s", c) }
func (s *fakeSurface) HealConsumer(c string) error  { return s.set(c, false, "heal %s", c) }

// set records a call that damages something or, if it succeeds, heals it.
func (s *fakeSurface) set(what string, wrong bool, format string, arguments ...any) error {
	err := s.call(format, arguments...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if wrong {
		s.wrong[what] = 1
	} else if err == nil {
		delete(s.wrong, what)
	}
	return err
}

// down records a call that leaves a process down, even if it fails.
func (s *fakeSurface) down(process, format string, arguments ...any) error {
	s.damage(process, 1)
	return s.call(format, arguments...)
}

// slowly records a call that takes a second.
func (s *fakeSurface) slowly(ctx context.Context, format string, arguments ...any) error {
	err := s.call(format, arguments...)
	if err == nil && !sleepUntil(ctx, time.Now().Add(time.Second)) {
		return ctx.Err()
	}
	return err
}
