package simtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
	"github.com/watchsim/watchsim/sim/simdisk"
)

// run is the boot of a cluster and the run of one seed.
type run struct {
	config Config
	t      *testing.T
	body   func(*T, *Cluster)
	begin  func() (job, error)

	cluster *Cluster
	log     sim.Logbook // of Kubernetes' libraries
	full    bool        // etcd has used up its quota
	report  report
	drawn   drawn
	failed  error // why nothing could be run
}

// inPlace runs a job in this process, where a debugger sees it, instead of in a copy of a worker.
// It is the same run. If this binary does not simulate, it replaces itself with one that does.
func (h *hunt) inPlace(config Config, body func(*T, *Cluster), next job) error {
	if !simulates {
		h.t.Logf("the run is in the process of %s", h.program)
		return syscall.Exec(h.program, append([]string{h.program}, os.Args[1:]...), os.Environ())
	}
	runtime.GOMAXPROCS(1)
	settle()
	r := &run{config: config, t: h.t, body: body, begin: func() (job, error) { return next, nil }, drawn: newDrawn(nil)}
	result, err := sim.Run(bootWorld(), r.live)
	if err == nil {
		err = r.failed
	}
	if err != nil {
		return err
	}
	r.finish(result)
	h.note(r.report)
	return nil
}

// live is the root function of the world.
func (r *run) live(world *sim.World) {
	booted, err := boot(world, r.config, &r.log, r.exited)
	r.cluster = newCluster(world, booted, r.config)
	world.OnExit(r.cluster.onExit)
	if err == nil {
		err = r.cluster.prepare()
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.cluster.ctx = ctx
	if err == nil && r.config.Boot != nil {
		if said := r.inside(world, r.config.Boot, new(reached)); said.Failed || said.Skipped {
			err = fmt.Errorf("Config.Boot failed:\n%s", strings.Join(said.Log, "\n"))
		}
	}
	if err != nil {
		r.failed = fmt.Errorf("the cluster did not boot: %w", err)
		return
	}
	world.Pause(func() {
		next, err := r.begin()
		if err != nil {
			r.failed = err
			return
		}
		r.report.Seed, r.report.Kept, r.report.Value = next.Seed, next.Kept, next.Value
		r.drawn = newDrawn(next.Drawn)
		r.cluster.begin(next)
	})
	if r.failed != nil {
		return
	}
	booted.Follow(r.report.Seed)
	r.report.PlainLists = drawGates(world.Rand("gates"))
	var seen reached
	said := r.inside(world, r.body, &seen)
	r.full = booted.Full()
	abandoned := r.cluster.abandoned()
	cancel()
	r.report.Log, r.report.Failed, r.report.Skipped, r.report.Reached = said.Log, said.Failed, said.Skipped, seen.times
	for _, what := range abandoned {
		r.fail("%s", what)
	}
	if err := r.cluster.problem; err != nil && !errors.Is(err, io.EOF) {
		r.report.Failed = true
		r.report.Log = append(r.report.Log, err.Error())
	}
	world.Settle()
}

// exited notes that an API server has exited by itself, as it does when something that it depends
// on does not become ready.
func (r *run) exited(server string, code int) {
	if r.cluster != nil && r.cluster.t != nil {
		r.cluster.logf("%s has exited with code %d and is started again in %v", server, code, restartDelay)
	}
}

// inside runs a test function in the world.
func (r *run) inside(world *sim.World, body func(*T, *Cluster), seen *reached) isolate.Said {
	return isolate.Inside(r.t, func(inside testing.TB) {
		t := &T{TB: inside, Seed: r.report.Seed, ctx: r.cluster.ctx, reached: seen, outside: r.t, drawn: &r.drawn, value: r.report.Value}
		r.cluster.t = t
		body(t, r.cluster)
	}, world.Process(testClient).Go)
}

// finish completes the report of a run that has ended.
func (r *run) finish(result *sim.Result) {
	r.report.Plan, r.report.Faults = r.cluster.plan.String(), len(r.cluster.plan)
	r.report.Hash, r.report.Simulated = result.Hash, result.Simulated-r.cluster.began
	r.report.Began, r.report.Injected, r.report.Requests = r.cluster.began, r.cluster.injected, r.cluster.recorded.lines
	var usage unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &usage)
	r.report.Processor = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	if result.Stop != sim.Completed {
		r.report.Failed, r.report.Stop = true, result.Stop.String()
		r.report.Stacks = result.Stacks
		if place, state := whereBodyIs(result.Stacks); place != "" {
			r.fail("the function of the test had not returned from %s (%s); a goroutine that was started before the simulation does nothing during it", place, state)
		}
	}
	if result.Uncontrolled > 0 {
		r.fail("a goroutine from outside of the simulation has woken one inside, so that more than the seed decides the run: start goroutines within the function of the test, or in Config.Boot")
	}
	if result.DiskFull {
		r.fail("%s", simdisk.FullReason)
	}
	if r.full {
		r.fail("etcd's databases outgrew the %d MiB that a test's cluster has room for, and took no more writes", quota>>20)
	}
	if isolate.Races() > 0 {
		r.report.Failed = true // the detector's output is added to the log
	}
	if err := r.judge(); err != nil {
		r.fail("The guarantees of the API cannot be checked: %v", err)
	}
	if r.report.Failed {
		r.report.Drawn = r.drawn.used
		var log strings.Builder
		_ = r.log.Print(&log, result, r.cluster.began) // to memory
		r.report.Output = log.String()
	}
}

func (r *run) fail(format string, arguments ...any) {
	r.report.Failed = true
	r.report.Log = append(r.report.Log, fmt.Sprintf(format, arguments...))
}

// whereBodyIs finds the test function in the stacks of a run. It returns the file and line that the
// function had reached, and what its goroutine waits for.
func whereBodyIs(stacks string) (place, state string) {
	for _, one := range strings.Split(stacks, "\n\n") {
		lines := strings.Split(one, "\n")
		for i, line := range lines {
			if strings.Contains(line, "simtest.(*run).inside.func1(") && i > 1 {
				place, _, _ = strings.Cut(path.Base(lines[i-1]), " ")
				_, state, _ = strings.Cut(lines[0], " [")
				state, _, _ = strings.Cut(state, "]")
				state, _, _ = strings.Cut(state, ", synctest bubble")
				return place, state
			}
		}
	}
	return "", ""
}

// judge has the oracle check what clients saw, and keeps the histories if the run failed.
func (r *run) judge() error {
	committed, err := r.cluster.booted.Committed()
	if err != nil {
		return err
	}
	histories, err := r.cluster.recorded.histories(committed, r.cluster.fired)
	if err != nil {
		return err
	}
	leave := func(resource, why string) { r.report.Unjudged = append(r.report.Unjudged, unjudged{resource, why}) }
	seen := Seen{Unjudged: leave, Committed: committed, Histories: map[string]*model.History{}, Requests: r.cluster.recorded.told, Endings: r.cluster.endings, Epoch: r.cluster.recorded.zero.UnixNano()}
	for _, one := range histories {
		r.report.Violations = append(r.report.Violations, one.violations()...)
		seen.Histories[one.resource] = one.history
		for _, note := range one.omitted {
			_, why, _ := strings.Cut(note, " ") // after how many, or after "inconclusive:"
			leave(one.resource, why)
		}
	}
	if check := r.config.Check; check != nil {
		if err := check(seen); err != nil {
			r.fail("Config.Check: %v", err)
		}
	}
	if r.report.Failed = r.report.Failed || len(r.report.Violations) > 0; !r.report.Failed {
		return nil
	}
	r.report.Histories = map[string]string{}
	for _, one := range histories {
		if r.report.Histories[one.resource], err = one.jsonLines(); err != nil {
			return err
		}
	}
	return nil
}
