package cluster

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
)

// Server is one API server across restarts. No state survives: its cache starts empty.
type Server struct {
	cluster   *Cluster
	name      string
	injection target.Injection // shared by all lives

	mu      sync.Mutex   // guards what follows; never held while anything waits
	process *sim.Process // nil while the server is down
	running *handler     // nil while it does not serve
	leaks   []int        // goroutines left over after each orderly stop
	stopped *sim.Process // the last one told to stop
	starts  int
}

// stopGrace is how long the goroutines of a stopped server may take to end.
const stopGrace = time.Second

// readGrace is how much longer they have if all clients had left: a read of Kubernetes' cache that
// waits to be fresh leaves a goroutine behind that sleeps for the 3 s of its blockTimeout, even if
// the read has ended (watchCache.waitUntilFreshLocked).
const readGrace = 3 * time.Second

// Name returns the server's name, which is also its host's.
func (s *Server) Name() string { return s.name }

// Up reports whether the server runs.
func (s *Server) Up() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running != nil
}

// Leaks returns how many goroutines were left after each graceful stop.
func (s *Server) Leaks() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]int{}, s.leaks...)
}

// Start starts the server. Its cache fills afterwards.
func (s *Server) Start() error {
	process := s.cluster.world.Process(s.name)
	s.mu.Lock()
	if s.process != nil {
		s.mu.Unlock()
		return fmt.Errorf("start %s: %w: it is up", s.name, ErrState)
	}
	s.process = process
	restarts := s.starts
	s.starts++
	s.mu.Unlock()

	var server target.Server
	var listener net.Listener
	var err error
	s.cluster.call("the start", process, func() {
		config := s.cluster.config.Server
		config.Name, config.Restarts, config.Endpoints = s.name, restarts, s.cluster.endpoints()
		config.Reached, config.Certificate, config.Injection = s.pass, s.cluster.certificate, &s.injection
		if server, err = s.cluster.config.Target.Start(config); err != nil {
			return
		}
		if listener, err = net.Listen("tcp", address(s.name)); err != nil {
			server.Stop()
		}
	})
	if err != nil {
		s.leave(process)
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	if listener == nil {
		return fmt.Errorf("start %s: %w: it crashed while it booted", s.name, ErrState)
	}
	storage, _ := server.(target.Storage)
	running := &handler{server: server, storage: storage, listener: listener, mail: s.cluster.mail, config: &s.cluster.config, pass: s.pass}
	s.mu.Lock()
	if s.process == process {
		s.running = running
	}
	s.mu.Unlock()
	process.Go(running.run)
	return nil
}

// Stop shuts the server down gracefully: it accepts no more connections, ends its watches,
// and waits for its goroutines.
func (s *Server) Stop() error {
	s.mu.Lock()
	process, running := s.process, s.running
	s.running, s.stopped = nil, process
	s.mu.Unlock()
	if running == nil {
		return fmt.Errorf("stop %s: %w: it is down", s.name, ErrState)
	}
	if !s.cluster.call("the stop", process, func() {
		if running.storage != nil { // others close the listener themselves
			running.listener.Close()
		}
		running.server.Stop()
		running.close()
	}) {
		return nil
	}
	time.Sleep(stopGrace)
	if s.cluster.left() && process.Goroutines() > 0 {
		time.Sleep(readGrace)
	}
	leaked := process.Goroutines()
	s.cluster.count(model.Stopped, s.name, process, running)
	process.Crash()
	s.mu.Lock()
	s.leaks = append(s.leaks, leaked)
	s.mu.Unlock()
	s.leave(process)
	return nil
}

// stops reports whether a process is the server's and was told to stop.
func (s *Server) stops(process *sim.Process) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped == process
}

// keeper is the process that restarts API servers that have exited.
const keeper = "keeper of API servers"

// RestartDelay is how long a server that has exited stays down, as with a kubelet's first CrashLoopBackOff.
const RestartDelay = 10 * time.Second

// runsIn reports whether a process is the server's.
func (s *Server) runsIn(process *sim.Process) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process == process
}

// revive ends a life of the server that has exited, and starts the next one later.
func (s *Server) revive(process *sim.Process) {
	process.Crash()
	s.leave(process)
	time.Sleep(RestartDelay)
	if s.runsIn(nil) {
		_ = s.Start() // a fault may have been faster
	}
}

// Crash ends the server at once.
func (s *Server) Crash() error {
	s.mu.Lock()
	process := s.process
	s.mu.Unlock()
	if process == nil {
		return fmt.Errorf("crash %s: %w: it is down", s.name, ErrState)
	}
	process.Crash()
	s.leave(process)
	return nil
}

// pass is called by an operation of the server that has reached a point.
func (s *Server) pass(ctx context.Context, point string) { s.cluster.points.pass(ctx, s.name, point) }

// Disconnect ends the connections of all clients.
func (s *Server) Disconnect() error {
	s.mu.Lock()
	process, running := s.process, s.running
	s.mu.Unlock()
	if running == nil {
		return fmt.Errorf("disconnect %s: %w: it is down", s.name, ErrState)
	}
	process.Do(running.disconnect)
	return nil
}

// ExpireCertificate makes a server that serves HTTPS show an expired certificate, and closes its
// clients' connections. It shows a valid one again in its next life, or when told to.
func (s *Server) ExpireCertificate(expired bool) error {
	s.mu.Lock()
	process, running := s.process, s.running
	s.mu.Unlock()
	switch {
	case running == nil && !expired:
		return nil
	case running == nil:
		return fmt.Errorf("expire the certificate of %s: %w: it is down", s.name, ErrState)
	case expired:
		certificate, err := s.cluster.expired.Pair()
		if err != nil {
			return err
		}
		running.expired.Store(&certificate)
		process.Do(running.disconnect)
	default:
		running.expired.Store(nil)
	}
	return nil
}

// certificate returns the certificate of API servers that serve HTTPS, made when the first one requests it, during the boot.
func (c *Cluster) certificate() (valid target.Certificate, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.valid.Chain == nil {
		c.valid, c.expired, err = target.NewCertificates(target.CertificateName)
	}
	return c.valid, err
}

// Authority returns the CA certificate of API servers that serve HTTPS, in PEM: theirs is self-signed. It is empty for others.
func (c *Cluster) Authority() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.valid.Chain
}

// BreakWatch makes the cacher lose its watch on etcd once.
func (s *Server) BreakWatch(how faults.WatchEnd) error {
	s.mu.Lock()
	process, running := s.process, s.running
	s.mu.Unlock()
	if running == nil {
		return fmt.Errorf("break the watch of %s: %w: it is down", s.name, ErrState)
	}
	process.Do(func() { running.server.BreakWatch(how) })
	return nil
}

// ReplaceStorage gives the server a new storage and cache while it keeps serving.
func (s *Server) ReplaceStorage() error {
	s.mu.Lock()
	process, running := s.process, s.running
	s.mu.Unlock()
	if running == nil {
		return fmt.Errorf("replace the storage of %s: %w: it is down", s.name, ErrState)
	}
	replacer, can := running.server.(target.Replacer)
	if !can {
		return fmt.Errorf("replace the storage of %s: its release cannot", s.name)
	}
	var err error
	s.cluster.call("the replacement of the storage", process, func() { err = replacer.ReplaceStorage() })
	return err
}

// leave drops the server's process.
func (s *Server) leave(process *sim.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == process {
		s.process, s.running = nil, nil
	}
}

func address(server string) string { return server + ":6443" }
