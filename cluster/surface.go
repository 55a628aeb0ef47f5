package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/faults"
)

// Surface is the cluster with its clients as faults act on it. What is nil must not be in the
// topology of a plan.
func (c *Cluster) Surface(consumers faults.Consumers, programs faults.Programs) faults.Surface {
	return &surface{Consumers: consumers, Programs: programs, cluster: c}
}

// surface translates the names of a plan into members, servers and links.
type surface struct {
	faults.Consumers
	faults.Programs
	cluster *Cluster
}

func (s *surface) Members() []string { return MemberNames(s.cluster.config.Members) }

func (s *surface) Await(point, process string, number int) faults.Gate {
	var gate faults.Gate = s.cluster.points.arm(point, process, number)
	if point == faults.PointSync {
		_ = s.onMember(process, func(member *Member) error {
			member.track(1)
			gate = &syncGate{Gate: gate, untrack: sync.OnceFunc(func() { member.track(-1) })}
			return nil
		})
	}
	return gate
}

// syncGate is a gate at which a member waits while its disk tracks syncs.
type syncGate struct {
	faults.Gate
	untrack func()
}

func (s *syncGate) Release() {
	s.Gate.Release()
	s.untrack()
}

// lookBack is how many revisions are searched for a deletion.
const lookBack = 200

func (s *surface) Compact(ctx context.Context, back int64) (revision int64, err error) {
	switch back {
	case faults.OldestKept, faults.LastDeletion:
		leader := s.cluster.Leader()
		if leader == nil {
			return 0, ErrNoMember
		}
		leader.do(func(m etcd.Running) {
			if back == faults.OldestKept {
				revision = m.OldestRevision() + 1
			} else if revision, err = m.LastDeletion(ctx, s.cluster.config.Target.Prefix(), lookBack); revision == 0 && err == nil {
				err = fmt.Errorf("none of the last %d revisions that are kept deletes an object", lookBack)
			}
		})
	default:
		revision = s.cluster.Revision() - back
	}
	if err == nil && revision < 1 {
		err = fmt.Errorf("there is no revision %d to compact at", revision)
	}
	if err != nil {
		return 0, err
	}
	return revision, s.cluster.Compact(ctx, revision)
}

func (s *surface) RestartMember(_ context.Context, name string) error {
	return s.onMember(name, func(member *Member) error {
		if err := member.Stop(); err != nil {
			return err
		}
		return member.Start()
	})
}

func (s *surface) CrashMember(name string) error {
	return s.onMember(name, (*Member).Crash)
}

func (s *surface) StartMember(_ context.Context, name string) error {
	return s.onMember(name, func(member *Member) error {
		if member.Up() {
			return nil
		}
		return member.Start()
	})
}

func (s *surface) MoveLeader(ctx context.Context) (from, to string, err error) {
	leader := s.cluster.Leader()
	if leader == nil {
		return "", "", ErrNoMember
	}
	members := s.cluster.members
	next := members[(slices.Index(members, leader)+1)%len(members)]
	return leader.name, next.name, leader.MoveLeader(ctx, next.name)
}

func (s *surface) SetDiskDelay(name string, delay time.Duration) error {
	return s.onMember(name, func(member *Member) error {
		member.disk().SetDelay(delay)
		return nil
	})
}

func (s *surface) CutPower(name string, keep faults.Keep) (lost int, err error) {
	err = s.onMember(name, func(member *Member) (err error) {
		lost, err = member.CutPower(keep == faults.KeepSome)
		return err
	})
	return lost, err
}

func (s *surface) RestoreMember(_ context.Context, name string, bump int64) error {
	if s.cluster.store() != nil {
		return fmt.Errorf("%s is not etcd", name) // whose tools restore it
	}
	return s.onMember(name, func(member *Member) error { return member.Restore(bump) })
}

func (s *surface) SetClock(process string, ahead time.Duration) error {
	s.cluster.world.SetClock(process, ahead)
	return nil
}

func (s *surface) Hang(name string, hang bool) error {
	return s.onMember(name, func(member *Member) error {
		s.cluster.Network().Freeze(name, hang)
		member.hang(hang)
		return nil
	})
}

func (s *surface) Defragment(_ context.Context, name string) error {
	return s.onRunning(name, etcd.Running.Defragment)
}

func (s *surface) StartCompactor(name string, period time.Duration) error {
	var stop func()
	err := s.onRunning(name, func(m etcd.Running) (err error) {
		stop, err = m.StartCompactor(period, s.cluster.asked)
		return err
	})
	if stop != nil {
		s.cluster.mu.Lock()
		defer s.cluster.mu.Unlock()
		s.cluster.compactors[name] = stop
	}
	return err
}

func (s *surface) StopCompactor(name string) error {
	s.cluster.mu.Lock()
	stop := s.cluster.compactors[name]
	delete(s.cluster.compactors, name)
	s.cluster.mu.Unlock()
	if stop != nil {
		stop()
	}
	return nil
}

func (s *surface) HoldWatchStreams(server string, hold bool) error {
	if hold {
		s.cluster.watches.Hold(server)
	} else {
		s.cluster.watches.Release(server)
	}
	return nil
}

func (s *surface) ThrottleWatchStreams(server string, rate int64) error {
	s.cluster.watches.Throttle(server, rate)
	return nil
}

func (s *surface) LoseProgress(server string, lose bool) error {
	s.cluster.watches.Mute(server, lose)
	return nil
}

func (s *surface) BreakWatchStreams(server string) (streams int, err error) {
	for _, member := range s.cluster.members {
		member.do(func(m etcd.Running) { streams += m.BreakWatches(server) })
	}
	return streams, nil
}

func (s *surface) SetRate(one, other string, rate int64) error {
	s.cluster.Network().SetBandwidth(one, other, rate)
	s.cluster.Network().SetBandwidth(other, one, rate)
	return nil
}

func (s *surface) SlowHost(process string, delay time.Duration) error {
	s.cluster.Network().SlowHost(process, delay)
	return nil
}

func (s *surface) SetLatency(from, to string, delay time.Duration) error {
	latency := s.cluster.config.Latency
	latency.Min += delay
	latency.Max = max(latency.Max+delay, latency.Min)
	s.cluster.Network().SetLatency(from, to, latency)
	return nil
}

func (s *surface) Partition(one, other string) error {
	s.cluster.Network().Partition(one, other)
	return nil
}

func (s *surface) PartitionOneWay(from, to string) error {
	s.cluster.Network().PartitionOneWay(from, to)
	return nil
}

func (s *surface) BlackHole(from, to string) error {
	s.cluster.Network().BlackHole(from, to)
	return nil
}

func (s *surface) HealLink(one, other string) error {
	s.cluster.Network().Heal(one, other)
	return nil
}

func (s *surface) Reset(one, other string) (int, error) {
	return s.cluster.Network().ResetLink(one, other), nil
}

func (s *surface) RestartServer(_ context.Context, name string) error {
	return s.onServer(name, func(server *Server) error {
		err := server.Stop()
		if err != nil {
			return err
		}
		// A server that does not reach etcd exits, and is restarted, as by a kubelet.
		for range startAttempts {
			if err = server.Start(); err == nil || server.Up() {
				return nil
			}
			time.Sleep(startPause)
		}
		return err
	})
}

// startAttempts is how often an API server that fails to start is started, and startPause the
// simulated time in between.
const (
	startAttempts = 5
	startPause    = time.Second
)

func (s *surface) CrashServer(name string) error {
	return s.onServer(name, (*Server).Crash)
}

func (s *surface) StartServer(_ context.Context, name string) error {
	return s.onServer(name, func(server *Server) error {
		if !server.runsIn(nil) {
			return nil
		}
		err := server.Start()
		if s.cluster.config.Exited != nil && errors.Is(err, ErrState) {
			return nil // it has exited in the meantime, and is restarted
		}
		return err
	})
}

func (s *surface) ReplaceStorage(name string) error {
	return s.onServer(name, (*Server).ReplaceStorage)
}

func (s *surface) BreakWatch(name string, how faults.WatchEnd) error {
	return s.onServer(name, func(server *Server) error { return server.BreakWatch(how) })
}

func (s *surface) Fail(name string, what faults.Failure, fails bool) error {
	return s.onServer(name, func(server *Server) error {
		switch what {
		case faults.ListFailure:
			server.injection.Lists.Store(fails)
		case faults.TransformFailure:
			server.injection.Transforming.Store(fails)
		case faults.DecodeFailure:
			server.injection.Decoding.Store(fails)
		default:
			return fmt.Errorf("nothing is known of a failure %q", what)
		}
		return nil
	})
}

func (s *surface) Expire(name string, ttl time.Duration) error {
	return s.onServer(name, func(server *Server) error {
		server.injection.TTL.Store(uint64(ttl / time.Second))
		return nil
	})
}

func (s *surface) Refuse(name string, refuse bool) error {
	return s.onServer(name, func(server *Server) error {
		s.cluster.Network().Refuse(name, refuse)
		if !refuse {
			return nil
		}
		return server.Disconnect()
	})
}

func (s *surface) ExpireCertificate(name string, expired bool) error {
	return s.onServer(name, func(server *Server) error { return server.ExpireCertificate(expired) })
}

// onRunning acts on a member that is up.
func (s *surface) onRunning(name string, act func(etcd.Running) error) error {
	return s.onMember(name, func(member *Member) (err error) {
		if !member.Up() {
			return fmt.Errorf("%s: %w: it is down", name, ErrState)
		}
		member.do(func(m etcd.Running) { err = act(m) })
		return err
	})
}

func (s *surface) onMember(name string, act func(*Member) error) error {
	for _, member := range s.cluster.members {
		if member.name == name {
			return act(member)
		}
	}
	return fmt.Errorf("expected one of the etcd members %v, found %q", s.Members(), name)
}

func (s *surface) onServer(name string, act func(*Server) error) error {
	for _, server := range s.cluster.servers {
		if server.name == name {
			return act(server)
		}
	}
	return fmt.Errorf("expected one of the API servers %v, found %q", ServerNames(s.cluster.config.Servers), name)
}
