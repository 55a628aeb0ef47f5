package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/watchsim/watchsim/sim/internal/kernel"
	"github.com/watchsim/watchsim/sim/simdisk"
	"github.com/watchsim/watchsim/sim/simnet"
)

var (
	// ErrNoOverlay means that the binary was built with the stock toolchain.
	ErrNoOverlay = errors.New("this binary was built without watchsim's toolchain overlay, so it cannot simulate; " +
		"run `make test`, or build with -overlay build/overlay/overlay.json")
	// ErrOldOverlay means that the toolchain overlay was made from other source.
	ErrOldOverlay = errors.New("this binary was built with a toolchain overlay that belongs to other source; make it with `make overlay` and build again")
	// ErrParallel means that the process has more than one P.
	ErrParallel = errors.New("a simulation needs GOMAXPROCS=1 from the start of the process")
)

// World is a running simulation. Its methods are for goroutines inside it, unless documented
// otherwise.
type World struct {
	config  Config
	network *simnet.Network
	begin   time.Time

	recording recording
	started   time.Time       // on the real clock, when the decisions of config began
	outside   func()          // who wanted the next pause
	followed  Source          // since the last pause that changed it
	setWindow func(open bool) // the kernel's, see explore.go
	exits     []func(p *Process, code int) bool
	calm      bool

	mu       sync.Mutex // guards groups, disks and clocks
	groups   []*Process // by number
	disks    map[string]*simdisk.Disk
	clocks   map[string]time.Duration // by how much those of hosts are ahead
	crashing sync.Mutex
}

// Available returns ErrNoOverlay or another reason if this binary cannot simulate.
func Available() error {
	switch {
	case kernel.Old():
		return ErrOldOverlay
	case !kernel.Available():
		return ErrNoOverlay
	}
	return nil
}

// ErrSecondRun means that a process tried to simulate more than once. State initialised by the
// first run would alter the second one: see package fork.
var ErrSecondRun = errors.New("this process has simulated already, and a process does so once")

var ran atomic.Bool

// Run runs f as a simulation and returns when f has returned, or when a limit has ended the
// run. A process can call it once. Remaining goroutines never run again.
//
// A panic of any simulated goroutine ends the process, as it would outside.
func Run(config Config, f func(*World)) (*Result, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	if runtime.GOMAXPROCS(0) != 1 {
		return nil, ErrParallel
	}
	if ran.Swap(true) {
		return nil, ErrSecondRun
	}
	if err := simdisk.Mount(); err != nil {
		return nil, err
	}
	w := &World{disks: map[string]*simdisk.Disk{}, clocks: map[string]time.Duration{}}
	w.groups = []*Process{{world: w, name: "world"}}
	params := w.follow(config)

	// The garbage collector would run at moments that depend on the machine.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	kernel.SetNetwork(&kernel.Network{Dial: w.dial, Listen: w.listen})
	defer kernel.SetNetwork(nil)
	kernel.SetProcesses(&kernel.Processes{Exit: w.exit, Host: func() string { return w.Current().name }})
	defer kernel.SetProcesses(nil)
	simdisk.OnAnySync(w.sync)
	defer simdisk.OnAnySync(nil)

	var counters kernel.Counters
	kernel.Runtime().Run(params, &counters, func() {
		w.setWindow = params.SetWindow
		w.begin = time.Now()
		w.network = simnet.New(w.networkConfig())
		f(w)
	}, w.paused)
	result := newResult(w, counters, time.Since(w.started), w.recording)
	runtime.KeepAlive(w.config.Source)
	if w.config.Stop && result.Stop != Completed {
		Here(result)
	}
	return result, nil
}

// follow applies a configuration to the run from here on, and returns the kernel's
// parameters for it.
func (w *World) follow(config Config) *kernel.Params {
	config = config.withDefaults()
	params := &kernel.Params{
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
	config.Source.load(params)
	config.Explore.load(params)
	w.config, w.recording, w.started = config, newRecording(params, config), time.Now()
	return params
}

// networkConfig is the configuration of the network, with the world's random streams.
func (w *World) networkConfig() simnet.Config {
	config := w.config.Network
	config.Rand = w.Rand
	return config
}

// Rand returns the random stream of a name, derived from the run's seed. Two calls with the same
// name return streams with the same numbers.
func (w *World) Rand(name string) *rand.Rand { return Stream(w.config.Source.Seed(), name) }

// Network returns the simulated network, which handles every dial and listen of a simulated
// goroutine, on the host with the name of the goroutine's process.
func (w *World) Network() *simnet.Network { return w.network }

// Disk returns the disk of a host. It handles every sync of goroutines whose process has
// that name.
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
// processes see the wall clock of time.Now jump; timers and measured durations, which are
// monotonic, are not affected.
func (w *World) SetClock(host string, ahead time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clocks[host] = ahead
	for _, p := range w.groups {
		if p.name == host {
			kernel.Runtime().SetWall(p.group, int64(ahead))
		}
	}
}

// Now returns the simulated time since the run began.
func (w *World) Now() time.Duration { return time.Since(w.begin) }

// At converts an instant to the time since the run began.
func (w *World) At(instant time.Time) time.Duration { return instant.Sub(w.begin) }

// Calm turns yields and stalls off: from now on a goroutine can only be overtaken by others
// that are runnable.
func (w *World) Calm() {
	w.calm = true
	kernel.Runtime().SetQuiet(true)
}

// Disturb turns yields and stalls on again, as in the schedule.
func (w *World) Disturb() {
	w.calm = false
	kernel.Runtime().SetQuiet(false)
}

// Settle calms the world and waits until no goroutine is stalled or queues for a lock, so that
// goroutines only wait for what their own code waits for. A run ends with it, so that no lock that
// outlives the run stays locked.
func (w *World) Settle() {
	w.Calm()
	time.Sleep(w.config.Schedule.StallMax + time.Millisecond)
	for range 1000 {
		if kernel.Runtime().Fragile(0, true) == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// Current returns the process of the calling goroutine.
func (w *World) Current() *Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.groups[kernel.Runtime().Group()]
}

func (w *World) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := w.network.DialContext(ctx, w.Current().name, network, address)
	if host, _, _ := net.SplitHostPort(address); errors.Is(err, syscall.ECONNREFUSED) && !w.hasHost(host) {
		return nil, &net.DNSError{Err: "no such host in the simulation", Name: host, IsNotFound: true}
	}
	return conn, err
}

// hasHost reports whether a process, running or not, has the name of that host. Each has a loopback
// of its own. A lock would be a synchronisation point of the program that dials, and is not needed:
// nothing interrupts a reader.
func (w *World) hasHost(host string) bool {
	if ip := net.ParseIP(host); host == "" || host == "localhost" || ip != nil && ip.IsLoopback() {
		return true
	}
	return slices.ContainsFunc(w.groups, func(p *Process) bool { return p.name == host })
}

func (w *World) listen(_ context.Context, network, address string) (net.Listener, error) {
	return w.network.Listen(w.Current().name, network, address)
}

func (w *World) sync(fd int) {
	w.mu.Lock()
	disk := w.disk(w.groups[kernel.Runtime().Group()].name)
	w.mu.Unlock()
	disk.Sync(fd)
}
