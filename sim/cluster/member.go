package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/etcd"
)

// Member is one etcd member through all its lives. Each life is a process of
// its own; a life that follows a crash has a folder of its own too, because the
// goroutines of the crashed one hold the locks of theirs for ever.
type Member struct {
	cluster *Cluster
	name    string

	mu      sync.Mutex   // guards what follows; never held while anything waits
	life    int          // the folder's number, from 1
	process *sim.Process // nil while the member is down
	running *etcd.Member // nil while it does not serve
}

// ErrState means that a member or server is not in the state that the request
// presumes, such as stopping one that is down.
var ErrState = errors.New("it is not in the state this presumes")

// Name is the member's name, which is its host's too.
func (m *Member) Name() string { return m.name }

// Up reports whether the member runs.
func (m *Member) Up() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running != nil
}

// Start boots the member from its files. It does not wait until the member
// serves clients: one that finds no quorum stays up and goes on trying.
func (m *Member) Start() error {
	process := m.cluster.world.Process(m.name)
	if !m.enter(process) {
		return fmt.Errorf("start %s: %w: it is up", m.name, ErrState)
	}
	var running *etcd.Member
	var err error
	process.Do(func() {
		running, err = etcd.Start(etcd.Config{
			Release:        m.cluster.config.Target.Etcd(),
			Name:           m.name,
			Dir:            m.dir(),
			Cluster:        MemberNames(m.cluster.config.Members),
			ProgressNotify: m.cluster.config.ProgressNotify,
			Logger:         m.cluster.config.Logger,
			Trouble:        m.cluster.watches,
		})
	})
	if running == nil && err == nil {
		return fmt.Errorf("start %s: %w: it crashed while it booted", m.name, ErrState)
	}
	if err != nil {
		m.leave(process)
		return fmt.Errorf("start %s: %w", m.name, err)
	}
	m.mu.Lock()
	if m.process == process {
		m.running = running
	}
	m.mu.Unlock()
	return nil
}

// await waits until the member serves clients, or for as long as a boot may take.
func (m *Member) await() error {
	m.mu.Lock()
	running := m.running
	m.mu.Unlock()
	if running == nil {
		return fmt.Errorf("wait for %s: %w: it is down", m.name, ErrState)
	}
	select {
	case <-running.Ready():
		return nil
	case <-time.After(bootMost):
		return fmt.Errorf("wait for %s: it did not serve within %v", m.name, bootMost)
	}
}

// Stop shuts the member down in an orderly way.
func (m *Member) Stop() error {
	m.mu.Lock()
	process, running := m.process, m.running
	m.running = nil
	m.mu.Unlock()
	if running == nil {
		return fmt.Errorf("stop %s: %w: it is down", m.name, ErrState)
	}
	if process.Do(running.Stop) {
		m.leave(process)
	}
	return nil
}

// Crash ends the member at once and keeps its files as they are at this moment.
func (m *Member) Crash() error {
	m.mu.Lock()
	process := m.process
	m.mu.Unlock()
	if process == nil {
		return fmt.Errorf("crash %s: %w: it is down", m.name, ErrState)
	}
	process.Crash()
	from := m.dir()
	m.mu.Lock()
	m.life++
	m.mu.Unlock()
	err := etcd.CopyDir(from, m.dir())
	m.leave(process)
	return err
}

// enter makes process the member's, unless it has one.
func (m *Member) enter(process *sim.Process) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process != nil {
		return false
	}
	m.process = process
	m.life = max(m.life, 1)
	return true
}

// leave forgets the member's process.
func (m *Member) leave(process *sim.Process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process == process {
		m.process, m.running = nil, nil
	}
}

// MoveLeader hands leadership from this member, which must lead, to another.
func (m *Member) MoveLeader(ctx context.Context, to string) error {
	err := fmt.Errorf("move leadership from %s: %w: it is down", m.name, ErrState)
	m.do(func(running *etcd.Member) { err = running.MoveLeader(ctx, to) })
	return err
}

// do runs f in the member's process, if the member is up.
func (m *Member) do(f func(*etcd.Member)) {
	m.mu.Lock()
	process, running := m.process, m.running
	m.mu.Unlock()
	if running != nil {
		process.Do(func() { f(running) })
	}
}

func (m *Member) folder(life int) string { return fmt.Sprintf("%s.%d", m.name, life) }

func (m *Member) dir() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return filepath.Join(m.cluster.config.Dir, m.folder(m.life))
}

// erase removes a folder. Its files are emptied first, because a member that
// never stopped keeps them open, and with them the space they take.
func erase(dir string) error {
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		return os.Truncate(path, 0)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, os.RemoveAll(dir))
}
