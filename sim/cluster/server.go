package cluster

import (
	"fmt"
	"net"
	"time"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/etcd"
	"github.com/watchsim/watchsim/sim/target"
)

// Server is one API server through all its lives. It keeps nothing between
// them: its cache starts empty.
type Server struct {
	cluster  *Cluster
	name     string
	process  *sim.Process
	running  target.Server
	listener net.Listener
}

// Name is the server's name, which is its host's too.
func (s *Server) Name() string { return s.name }

// Up reports whether the server runs.
func (s *Server) Up() bool { return s.running != nil }

// Start brings the server up. Its cache fills afterwards.
func (s *Server) Start() error {
	if s.process != nil {
		return fmt.Errorf("start %s: %w: it is up", s.name, ErrState)
	}
	process := s.cluster.world.Process(s.name)
	s.process = process
	var endpoints []string
	for _, member := range s.cluster.members {
		endpoints = append(endpoints, etcd.ClientURL(member.name))
	}
	var running target.Server
	var listener net.Listener
	var err error
	process.Do(func() {
		running, err = s.cluster.config.Target.Start(target.ServerConfig{
			Name:           s.name,
			Endpoints:      endpoints,
			BookmarkPeriod: s.cluster.config.BookmarkPeriod,
		})
		if err != nil {
			return
		}
		if listener, err = net.Listen("tcp", address(s.name)); err != nil {
			running.Stop()
		}
	})
	if err != nil {
		s.process = nil
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	if listener == nil {
		return fmt.Errorf("start %s: %w: it crashed while it booted", s.name, ErrState)
	}
	s.running, s.listener = running, listener
	handler := &handler{server: running, mail: s.cluster.mail, eventBytes: s.cluster.config.EventBytes}
	process.Go(func() { handler.accept(listener) })
	return nil
}

// Stop shuts the server down in an orderly way: it accepts no more connections,
// ends its watches, and waits for its goroutines. It reports how many of them
// were left after a grace period, which ought to be none.
func (s *Server) Stop() (leftover int, err error) {
	if s.running == nil {
		return 0, fmt.Errorf("stop %s: %w: it is down", s.name, ErrState)
	}
	running, listener, process := s.running, s.listener, s.process
	s.running, s.listener = nil, nil
	if !process.Do(func() {
		listener.Close()
		running.Stop()
	}) {
		return 0, nil
	}
	// Connections that clients keep open would hold their handlers.
	s.cluster.Network().CrashHost(s.name)
	time.Sleep(stopGrace)
	leftover = process.Goroutines()
	process.Crash()
	s.process = nil
	return leftover, nil
}

// stopGrace is how long the goroutines of a stopped server may take to end.
const stopGrace = time.Second

// Crash ends the server at once.
func (s *Server) Crash() error {
	if s.process == nil {
		return fmt.Errorf("crash %s: %w: it is down", s.name, ErrState)
	}
	s.process.Crash()
	s.process, s.running, s.listener = nil, nil, nil
	return nil
}

// BreakWatch makes the cacher lose its watch on etcd once.
func (s *Server) BreakWatch() error {
	running := s.running
	if running == nil {
		return fmt.Errorf("break the watch of %s: %w: it is down", s.name, ErrState)
	}
	s.process.Do(running.BreakWatch)
	return nil
}

func address(server string) string { return server + ":6443" }
