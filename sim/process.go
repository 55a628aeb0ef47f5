package sim

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/watchsim/watchsim/sim/internal/kernel"
)

// ErrProcessLimit means that a run has started too many processes.
var ErrProcessLimit = errors.New("a run may start no more processes")

// Process is a group of goroutines that live and die together, on a host of the simulated network
// with the same name. A restarted process is a new Process with the same name.
type Process struct {
	world *World
	name  string
	group uint32
	dead  atomic.Bool
	gone  chan struct{} // closed when it has crashed
}

// Process returns a new process without goroutines.
func (w *World) Process(name string) *Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.groups) == kernel.GroupMax {
		panic(fmt.Errorf("%w: the limit is %d", ErrProcessLimit, kernel.GroupMax))
	}
	p := &Process{world: w, name: name, group: uint32(len(w.groups)), gone: make(chan struct{})}
	w.groups = append(w.groups, p)
	kernel.Runtime().SetWall(p.group, int64(w.clocks[name]))
	return p
}

// Name returns the name of the process, which is also that of its host.
func (p *Process) Name() string { return p.name }

// Go starts a goroutine in the process. It does nothing once the process has
// crashed.
func (p *Process) Go(f func()) {
	if p.dead.Load() {
		return
	}
	go func() {
		kernel.Runtime().SetGroup(p.group)
		f()
	}()
}

// Do runs f in the process and waits for it. It reports false if the process
// crashed before f was done.
func (p *Process) Do(f func()) bool {
	done := make(chan struct{})
	p.Go(func() {
		defer close(done)
		f()
	})
	select {
	case <-done:
		return true
	case <-p.gone:
		return false
	}
}

// Goroutines returns the number of goroutines of the process. It is meaningful when nothing
// else runs, as after [World.Settle].
func (p *Process) Goroutines() int { return kernel.Runtime().Alive(p.group) }

// OnExit registers f to be called when a process calls os.Exit, which otherwise ends the real
// process and with it the run. f runs on the exiting goroutine, and reports whether it has had
// another goroutine crash the process: then the exiting one never continues. If it has not, the
// functions of later calls are tried.
func (w *World) OnExit(f func(p *Process, code int) bool) {
	w.exits = append(w.exits, f)
}

// exit is called by os.Exit.
func (w *World) exit(code int) {
	for _, takesCare := range w.exits {
		if takesCare(w.Current(), code) {
			select {}
		}
	}
}

// Crash ends the process at the next instant at which every goroutine waits:
// none of its goroutines ever runs again, its timers never fire, its listeners
// close and its connections reset. It must be called from another process.
//
// All processes share one address space, so a crashed process could leave a shared lock
// locked, such as that of a metrics registry. The crash therefore waits while a goroutine
// of the process is stalled with a lock held or queues for one, but not longer than
// Limits.CrashDelay. When half of that is over, the world is calm until the crash: a large
// process would otherwise always have such a goroutine.
func (p *Process) Crash() {
	// Only one goroutine at a time can wait for all others.
	p.world.crashing.Lock()
	defer p.world.crashing.Unlock()
	began, delay, calmed := time.Now(), p.world.config.Limits.CrashDelay, false
	for {
		synctest.Wait()
		if p.dead.Load() {
			return
		}
		waited := time.Since(began)
		if kernel.Runtime().Fragile(p.group, false) == 0 || waited >= delay {
			break
		}
		if !calmed && waited >= delay/2 {
			calmed = true
			kernel.Runtime().SetQuiet(true)
		}
		time.Sleep(time.Millisecond)
	}
	if calmed && !p.world.calm {
		kernel.Runtime().SetQuiet(false)
	}
	p.dead.Store(true)
	kernel.Runtime().Kill(p.group)
	close(p.gone)
	p.world.network.CrashHost(p.name)
}
