package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/watchsim/watchsim/faults"
)

// Consumers are the clients whose pace faults can change.
type Consumers interface {
	SlowConsumer(client string, delay time.Duration) error
	StallConsumer(client string) error
	HealConsumer(client string) error
}

// Surface is what faults act on: this cluster and its clients.
func (c *Cluster) Surface(consumers Consumers) faults.Surface {
	return &surface{Consumers: consumers, cluster: c}
}

// surface translates the names of a plan into members, servers and links.
type surface struct {
	Consumers
	cluster *Cluster
}

func (s *surface) Members() []string { return MemberNames(s.cluster.config.Members) }

func (s *surface) Compact(ctx context.Context, back int64) (int64, error) {
	revision := s.cluster.Revision() - back
	if revision < 1 {
		return 0, fmt.Errorf("there is no revision %d to compact at", revision)
	}
	return revision, s.cluster.Compact(ctx, revision)
}

func (s *surface) RestartMember(_ context.Context, name string) error {
	member, err := s.member(name)
	if err != nil {
		return err
	}
	if err := member.Stop(); err != nil {
		return err
	}
	return member.Start()
}

func (s *surface) CrashMember(name string) error {
	member, err := s.member(name)
	if err != nil {
		return err
	}
	return member.Crash()
}

func (s *surface) StartMember(_ context.Context, name string) error {
	member, err := s.member(name)
	if err != nil || member.Up() {
		return err
	}
	return member.Start()
}

func (s *surface) MoveLeader(ctx context.Context) (from, to string, err error) {
	leader := s.cluster.Leader()
	if leader == nil {
		return "", "", ErrNoMember
	}
	members := s.cluster.members
	for i, member := range members {
		if member == leader {
			next := members[(i+1)%len(members)]
			return leader.name, next.name, leader.MoveLeader(ctx, next.name)
		}
	}
	return "", "", ErrNoMember
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
	server, err := s.server(name)
	if err != nil {
		return err
	}
	if err := server.Stop(); err != nil {
		return err
	}
	return server.Start()
}

func (s *surface) CrashServer(name string) error {
	server, err := s.server(name)
	if err != nil {
		return err
	}
	return server.Crash()
}

func (s *surface) StartServer(_ context.Context, name string) error {
	server, err := s.server(name)
	if err != nil || server.Up() {
		return err
	}
	return server.Start()
}

func (s *surface) BreakWatch(name string) error {
	server, err := s.server(name)
	if err != nil {
		return err
	}
	return server.BreakWatch()
}

func (s *surface) member(name string) (*Member, error) {
	for _, member := range s.cluster.members {
		if member.name == name {
			return member, nil
		}
	}
	return nil, fmt.Errorf("expected one of the etcd members %v, found %q", s.Members(), name)
}

func (s *surface) server(name string) (*Server, error) {
	for _, server := range s.cluster.servers {
		if server.name == name {
			return server, nil
		}
	}
	return nil, fmt.Errorf("expected one of the API servers %v, found %q", ServerNames(s.cluster.config.Servers), name)
}
