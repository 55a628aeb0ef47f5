package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/watchsim/watchsim/sim/internal/kernel"
	"github.com/watchsim/watchsim/sim/simdisk"
	"github.com/watchsim/watchsim/sim/simnet"
)

var (
	// ErrNoOverlay means that the binary was built with the stock toolchain.
	ErrNoOverlay = errors.New("this binary was built without watchsim's toolchain overlay, so it cannot simulate; " +
		"run `make test`, or build with -tags watchsim -overlay build/overlay/overlay.json")
	// ErrParallel means that the process has more than one P.
	ErrParallel = errors.New("a simulation needs GOMAXPROCS=1 from the start of the process")
)

// World is a running simulation. Its methods are for goroutines inside it.
type World struct {
	config  Config
	network *simnet.Network
	begin   time.Time

	setWindow func(open bool) // the kernel's, see explore.go

	mu       sync.Mutex // guards groups, disks and clocks
	groups   []*Process // by number
	disks    map[string]*simdisk.Disk
	clocks   map[string]time.Duration // by how much those of hosts are ahead
	crashing sync.Mutex
}

// Available reports, with ErrNoOverlay, whether this binary can simulate.
func Available() error {
	if !kernel.Available {
		return ErrNoOverlay
	}
	return nil
}

// Run runs f as a simulation and returns when f has returned, or when a limit
// has ended the run. Goroutines that are left over then never run again; their
// memory is not freed, which is why worker processes are recycled.
//
// The first run of a process differs from later ones, because it initialises
// what is initialised lazily. Call [Run] once for warming up before any run
// whose hash matters.
//
// A panic of any simulated goroutine ends the process, as it would outside.
func Run(config Config, f func(*World)) (*Result, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	if runtime.GOMAXPROCS(0) != 1 {
		return nil, ErrParallel
	}
	config = config.withDefaults()
	w := &World{config: config, disks: map[string]*simdisk.Disk{}, clocks: map[string]time.Duration{}}
	w.groups = []*Process{{world: w, name: "world"}}

	params := kernel.Params{
		MaxDecisions: config.Limits.Decisions,
		MaxTime:      int64(config.Limits.Simulated),
		YieldMean:    config.Schedule.YieldEvery,
		StallOneIn:   config.Schedule.StallOneIn,
		StallMin:     int64(config.Schedule.StallMin),
		StallMax:     int64(config.Schedule.StallMax),
		CollectAt:    config.Limits.HeapBytes,
		FocusOneIn:   uint64(config.Schedule.FocusOneIn),
		FocusSeed:    Stream(config.Source.Seed(), "focus").Uint64(),
		BreakAt:      config.BreakAt,
	}
	config.Source.load(&params)
	config.Explore.load(&params)
	recording, err := newRecording(&params, config)
	if err != nil {
		return nil, err
	}

	// The collector would run at moments that depend on the machine.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	kernel.SetNetwork(w.dial, w.listen)
	defer kernel.SetNetwork(nil, nil)
	kernel.SetSync(w.sync)
	defer kernel.SetSync(nil)

	var counters kernel.Counters
	start := time.Now()
	kernel.Run(&params, &counters, func() {
		w.setWindow = params.SetWindow
		if w.setWindow == nil {
			w.setWindow = func(bool) {}
		}
		w.begin = time.Now()
		config.Network.Rand = w.Rand
		w.network = simnet.New(config.Network)
		f(w)
	})
	wall := time.Since(start)
	defer kernel.Forget()
	if config.Explore != nil && params.SetWindow == nil {
		return nil, ErrOldOverlay
	}
	runtime.KeepAlive(config.Source)
	result := newResult(w, &counters, wall, recording)
	if err := recording.close(); err != nil {
		return nil, err
	}
	if config.Stop && result.Stop != Completed {
		Here(result)
	}
	return result, nil
}

// Rand returns the random numbers that the run's seed holds under a name. Two
// calls with one name return two streams with the same numbers.
func (w *World) Rand(name string) *rand.Rand { return Stream(w.config.Source.Seed(), name) }

// Seed is the number the run's random streams derive from.
func (w *World) Seed() uint64 { return w.config.Source.Seed() }

// Network is the simulated network. Every dial and listen of a simulated
// goroutine ends up there, on the host named like the goroutine's process.
func (w *World) Network() *simnet.Network { return w.network }

// Disk is the disk of a host. Every sync of a simulated goroutine goes to that of the
// host named like the goroutine's process.
func (w *World) Disk(host string) *simdisk.Disk {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.disk(host)
}

func (w *World) disk(host string) *simdisk.Disk {
	if w.disks[host] == nil {
		w.disks[host] = &simdisk.Disk{}
	}
	return w.disks[host]
}

// SetClock sets by how much the wall clock of a host is ahead of simulated time. Its
// processes see that clock jump: what time.Now tells changes, and what they measured
// or wait for does not.
func (w *World) SetClock(host string, ahead time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clocks[host] = ahead
	for _, p := range w.groups {
		if p.name == host {
			kernel.SetWall(p.group, int64(ahead))
		}
	}
}

// Now is the simulated time since the run began.
func (w *World) Now() time.Duration { return time.Since(w.begin) }

// Calm switches yields and stalls off for good: from now on a goroutine is only
// ever overtaken by others that are runnable, too.
func (w *World) Calm() { kernel.SetQuiet(true) }

// Settle calms the world and waits until no goroutine
// is stalled or queues for a lock, so that whatever still waits does so of its
// own accord. A run ends with it, so that no lock that outlives the run stays
// locked.
func (w *World) Settle() {
	w.Calm()
	time.Sleep(w.config.Schedule.StallMax + time.Millisecond)
	for range 1000 {
		if kernel.Fragile(0, true) == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// current is the process of the calling goroutine.
func (w *World) current() *Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.groups[kernel.Group()]
}

func (w *World) dial(ctx context.Context, network, address string) (net.Conn, error) {
	return w.network.DialContext(ctx, w.current().name, network, address)
}

func (w *World) listen(_ context.Context, network, address string) (net.Listener, error) {
	return w.network.Listen(w.current().name, network, address)
}

func (w *World) sync(fd int) {
	w.mu.Lock()
	disk := w.disk(w.groups[kernel.Group()].name)
	w.mu.Unlock()
	disk.Sync(fd)
}
