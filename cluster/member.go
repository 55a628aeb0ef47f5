package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/simdisk"
)

// Member is one etcd member across restarts. Each life is a separate process, which finds
// the files of the previous one; a restored member has a new folder.
type Member struct {
	cluster *Cluster
	name    string
	chance  *rand.Rand // which sectors a failing disk keeps

	mu      sync.Mutex   // guards what follows; never held while anything waits
	life    int          // the folder's number, from 1; each restore has another
	process *sim.Process // nil while the member is down
	running etcd.Running // nil while it does not serve

	restores []restore     // in their order
	tracked  int           // number of users that need the disk to track syncs
	hung     chan struct{} // closed when the disk resumes; nil unless the member hangs
}

// restore is the restore of a member from the files of a life.
type restore struct {
	from int // the life's number
	etcd.Restored
}

// ErrState means that a member or server is not in the required state, as when stopping one that is
// down.
var ErrState = errors.New("it is not in the state this presumes")

// Name returns the member's name, which is also its host's.
func (m *Member) Name() string { return m.name }

// Up reports whether the member runs.
func (m *Member) Up() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running != nil
}

// Start boots the member from its files. It does not wait until the member serves clients:
// one without a quorum stays up and keeps trying.
func (m *Member) Start() error {
	process := m.cluster.world.Process(m.name)
	if !m.enter(process) {
		return fmt.Errorf("start %s: %w: it is up", m.name, ErrState)
	}
	m.track(0)
	start := etcd.Start
	if store := m.cluster.store(); store != nil {
		start = store.Run
	}
	var running etcd.Running
	var err error
	m.cluster.call("the start", process, func() {
		running, err = start(m.settings(m.dir()))
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

// settings returns those of a life whose files are in dir.
func (m *Member) settings(dir string) etcd.Config {
	return etcd.Config{
		Release:        m.cluster.config.Target.Etcd(),
		Name:           m.name,
		Dir:            dir,
		Cluster:        MemberNames(m.cluster.config.Members),
		ProgressNotify: m.cluster.config.ProgressNotify,
		Tuning:         m.cluster.config.Etcd,
		Logger:         m.cluster.config.Logger,
		Injection:      m.cluster.watches,
	}
}

// await waits until the member serves clients, for maxBoot at most.
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
	case <-time.After(maxBoot):
		return fmt.Errorf("wait for %s: it did not serve within %v", m.name, maxBoot)
	}
}

// Stop shuts the member down gracefully.
func (m *Member) Stop() error {
	m.mu.Lock()
	process, running := m.process, m.running
	m.running = nil
	m.mu.Unlock()
	if running == nil {
		return fmt.Errorf("stop %s: %w: it is down", m.name, ErrState)
	}
	if m.cluster.call("the stop", process, running.Stop) {
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
	m.leave(process)
	return nil
}

// CutPower is like Crash, but also discards writes that were not synced since tracking began: all
// sectors, or a random subset. It returns how many sectors were lost.
func (m *Member) CutPower(keepSome bool) (lost int, err error) {
	if err := m.Crash(); err != nil {
		return 0, err
	}
	return m.disk().Fail(m.dir(), func() bool { return keepSome && m.chance.IntN(2) == 0 }), nil
}

// Restore replaces the member by one that is restored from its database, with the revision raised
// by bump and all older history compacted, or unchanged if bump is 0. It must be the only member.
// If the database lacks entries of the log, because there was no leader since a crash, it is
// restarted instead: a restore would lose acknowledged writes.
func (m *Member) Restore(bump int64) error {
	if err := m.Stop(); err != nil {
		return err
	}
	m.mu.Lock()
	from := m.life
	m.mu.Unlock()
	next := restore{from: from}
	var err error
	m.cluster.world.Process(m.name).Do(func() {
		next.Restored, err = etcd.Restore(m.settings(m.folder(from+1)), m.dir(), bump)
	})
	if err != nil || m.lacks(next.Applied) {
		return errors.Join(err, m.Start())
	}
	if next.Revision != 0 {
		m.cluster.asked(next.Revision)
	}
	m.mu.Lock()
	m.life++
	m.restores = append(m.restores, next)
	m.mu.Unlock()
	return m.Start()
}

// lacks reports whether the member's log has requests beyond an entry.
func (m *Member) lacks(applied uint64) (lacks bool) {
	sim.Aside(func() { // this look-up is not part of the run
		log, err := m.cluster.config.Target.Etcd().ReadLog(m.dir())
		lacks = err == nil && slices.ContainsFunc(log.Entries, func(e etcd.LogEntry) bool {
			return e.Index > applied && e.Normal && len(e.Data) > 0
		})
	})
	return lacks
}

// track makes the member's disk track syncs while at least one user needs it: more is 1, -1, or 0
// for the files of a new life.
func (m *Member) track(more int) {
	dir := m.dir()
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.tracked
	switch m.tracked += more; {
	case m.tracked == 0:
		m.disk().Forget()
	case before == 0 || more == 0:
		m.disk().Track(dir)
	}
}

// hang makes the member's syncs hang, or resume.
func (m *Member) hang(hang bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case hang && m.hung == nil:
		m.hung = make(chan struct{})
	case !hang && m.hung != nil:
		close(m.hung)
		m.hung = nil
	}
}

// awaitDisk waits while the member hangs.
func (m *Member) awaitDisk() {
	m.mu.Lock()
	hung := m.hung
	m.mu.Unlock()
	if hung != nil {
		<-hung
	}
}

func (m *Member) disk() *simdisk.Disk { return m.cluster.world.Disk(m.name) }

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

// leave drops the member's process.
func (m *Member) leave(process *sim.Process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process == process {
		m.process, m.running = nil, nil
	}
}

// MoveLeader transfers leadership from this member, which must be the leader, to another.
func (m *Member) MoveLeader(ctx context.Context, to string) error {
	err := fmt.Errorf("move leadership from %s: %w: it is down", m.name, ErrState)
	m.do(func(running etcd.Running) { err = running.MoveLeader(ctx, to) })
	return err
}

// do runs f in the member's process, if the member is up.
func (m *Member) do(f func(etcd.Running)) {
	m.mu.Lock()
	process, running := m.process, m.running
	m.mu.Unlock()
	if running != nil {
		process.Do(func() { f(running) })
	}
}

// peek calls f with the running member, if it is up, without waiting. It reports false if
// the member is just being started or stopped.
func (m *Member) peek(f func(etcd.Running)) bool {
	if !m.mu.TryLock() {
		return false
	}
	defer m.mu.Unlock()
	if m.running != nil {
		f(m.running)
	}
	return true
}

func (m *Member) folder(life int) string {
	return fmt.Sprintf("%s/%s.%d", simdisk.Root, m.name, life)
}

func (m *Member) dir() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.folder(m.life)
}
