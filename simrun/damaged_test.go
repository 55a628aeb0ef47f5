package simrun

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim/simdisk"
)

// addDamagedTargets adds variants of the first target with broken servers.
func addDamagedTargets() {
	for _, damaged := range []damagedTarget{
		{name: "forgetful", wrap: func(server target.Storage) target.Storage { return forgetful{server} }},
		{name: "bootless", wrap: func(target.Storage) target.Storage { panic("the bootless target panics") }},
		{name: "undetermined", wrap: inSomeRuns(1, func() { time.Sleep(time.Duration(unix.Getpid()) * time.Microsecond) })},

		{name: "behaving", wrap: inSomeRuns(2, func() {})},
		{name: "panicking", wrap: inSomeRuns(1, func() { panic("the panicking target panics") })},
		{name: "killed-once", wrap: inSomeRuns(2, killOnce)},
		{name: "killed", wrap: inSomeRuns(2, func() { _ = unix.Kill(unix.Getpid(), unix.SIGKILL) })},
		{name: "exiting", wrap: inSomeRuns(2, func() { os.Exit(0) })},
		{name: "panicking-sometimes", wrap: inSomeRuns(2, func() { panic("the panicking target panics") })},
		{name: "large", wrap: inSomeRuns(2, func() { held = make([]byte, 16<<30) })},
		{name: "spinning", wrap: inSomeRuns(2, func() {
			for {
				held = nil
			}
		})},
		{name: "blocking", wrap: inSomeRuns(2, func() { _, _ = syscall.Select(0, nil, nil, nil, nil) })},
		{name: "filling", wrap: inSomeRuns(2, fill)},
	} {
		sound := targets[0].New
		targets = append(targets, Target{Name: damaged.name, Summary: "for tests", New: func() target.Target {
			damaged.Target = sound()
			return damaged
		}})
	}
}

// inSomeRuns makes servers misbehave at the 20th operation of one run in this many, chosen by the
// seed alone.
func inSomeRuns(oneIn int64, misbehave func()) func(target.Storage) target.Storage {
	return func(server target.Storage) target.Storage {
		return &misbehaving{Storage: server, oneIn: oneIn, misbehave: misbehave}
	}
}

type misbehaving struct {
	target.Storage
	operations int
	oneIn      int64
	misbehave  func()
}

func (m *misbehaving) Do(ctx context.Context, op *model.Operation, token string) string {
	if m.operations++; m.operations == 20 && time.Now().UnixMicro()%m.oneIn == 0 {
		m.misbehave()
	}
	return m.Storage.Do(ctx, op, token)
}

// killMarker is the variable with the path of a file that exists once a run was killed.
const killMarker = "WATCHSIM_TEST_MARKER"

// killedAlready is read before any run, which reading the environment would change.
var killedAlready = os.Getenv(killMarker)

// killOnce kills the process only the first time, like a kernel that is out of memory.
func killOnce() {
	if fd, err := syscall.Open(killedAlready, syscall.O_CREAT|syscall.O_EXCL, 0o600); err == nil {
		_ = syscall.Close(fd)
		_ = unix.Kill(unix.Getpid(), unix.SIGKILL)
	}
}

// held is memory that is never freed.
var held []byte

// fill fills the simulated disks.
func fill() {
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s/filling-%d", simdisk.Root, i)
		if os.WriteFile(name, nil, 0o600) != nil || os.Truncate(name, simdisk.FileMax) != nil {
			return
		}
	}
}

// damagedTarget is another target with one change.
type damagedTarget struct {
	target.Target
	name string
	wrap func(target.Storage) target.Storage
}

func (d damagedTarget) Start(config target.ServerConfig) (target.Server, error) {
	server, err := d.Target.Start(config)
	if err != nil {
		return nil, err
	}
	return d.wrap(server.(target.Storage)), nil
}

// forgetful drops events of its watches.
type forgetful struct{ target.Storage }

func (f forgetful) Watch(ctx context.Context, stream *model.Stream) target.Watch {
	watch := f.Storage.Watch(ctx, stream)
	if watch == nil {
		return nil
	}
	return forgetfulWatch{watch}
}

type forgetfulWatch struct{ target.Watch }

func (f forgetfulWatch) Next() (model.Event, model.CloseReason, bool) {
	for {
		event, reason, ok := f.Watch.Next()
		if !ok || event.Object == nil || event.RV%7 != 0 {
			return event, reason, ok
		}
	}
}
