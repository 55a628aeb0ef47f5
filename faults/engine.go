package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/watchsim/watchsim/model"
)

// The bounds of the engine, in simulated time.
const (
	// actionTimeout is how long one action may take.
	actionTimeout = 10 * time.Second
	// maxHealAttempts is how often the engine tries to heal a fault, healPause apart.
	maxHealAttempts = 5
	healPause       = 500 * time.Millisecond
)

// Report says which faults of a plan happened.
type Report struct {
	// Fired are the faults that happened, in order of their beginning.
	Fired []model.Fault
	// NotFired are the others, in order of their time.
	NotFired []NotFired
	// Counts is how many faults of each kind fired.
	Counts map[string]int
}

// NotFired is a fault that did not happen.
type NotFired struct {
	Fault Fault
	// Reason is a clause such as "etcd-0 is in use by etcd-crash".
	Reason string
}

// Engine carries out a plan on a surface. One goroutine walks the timeline, and only
// actions that take simulated time run in goroutines of their own.
type Engine struct {
	surface Surface
	began   time.Time
	members []string
	entries []*entry
	steps   []step // not yet taken
	actions sync.WaitGroup

	// mu guards inUse and the outcomes in entries.
	mu    sync.Mutex
	inUse map[string]string // the kind of the fault that has claimed something
}

// NewEngine prepares to carry out a plan whose times count from began.
func NewEngine(plan Plan, surface Surface, began time.Time) *Engine {
	e := &Engine{surface: surface, began: began, members: surface.Members(), inUse: map[string]string{}}
	e.steps = e.timeline(plan)
	return e
}

// Run carries out the plan and returns when the last fault has healed; if ctx is done earlier, it
// heals lasting faults at once. Faults that cannot happen, such as a crash of a process that is
// down, are reported as not fired. An error means that a fault could not be healed: nothing can be
// said about liveness after that.
func (e *Engine) Run(ctx context.Context) (Report, error) {
	for len(e.steps) > 0 {
		step := e.steps[0]
		waited := sleepUntil(ctx, e.began.Add(step.at))
		if len(e.steps) == 0 || e.steps[0] != step {
			continue // Replan has changed the plan
		}
		e.steps = e.steps[1:]
		switch {
		case step.ends:
			// Every fault that began must be ended, even if the run was cut short.
			if step.entry.fired {
				e.heal(ctx, step.entry)
			}
		case waited && step.entry.fault.Point != "":
			e.actions.Go(func() { e.awaitPoint(ctx, step.entry) })
		case waited:
			e.start(ctx, step.entry)
		default:
			step.entry.reason = "the run ended before its time"
		}
	}
	e.actions.Wait()
	return e.report()
}

// Replan replaces the faults that have not begun, in a paused world. It wakes no goroutine: faults
// that are due before the next step of the old plan begin with that step, and if there is none, no
// new fault begins. It returns by how many the number of faults grew.
func (e *Engine) Replan(plan Plan) int {
	if len(e.steps) == 0 {
		return 0
	}
	var dropped []*entry
	for _, step := range e.steps {
		if !step.ends {
			dropped = append(dropped, step.entry)
		}
	}
	e.entries = slices.DeleteFunc(e.entries, func(entry *entry) bool { return slices.Contains(dropped, entry) })
	e.steps = slices.DeleteFunc(slices.Clone(e.steps), func(s step) bool { return slices.Contains(dropped, s.entry) })
	e.steps = append(e.steps, e.timeline(plan)...)
	slices.SortStableFunc(e.steps, inOrder)
	return len(plan) - len(dropped)
}

// entry is one fault and its outcome.
type entry struct {
	fault      Fault
	kind       Kind
	claimed    []string
	fired      bool
	begin, end int64
	note       string
	reason     string // why it did not fire
	unhealed   error
}

// step is the beginning or the end of a fault.
type step struct {
	at    time.Duration
	ends  bool
	entry *entry
}

// timeline returns all steps in order of time. At equal times ends come first, so
// that one fault may begin where another one ends.
func (e *Engine) timeline(plan Plan) []step {
	var steps []step
	for _, fault := range plan {
		kind, ok := Lookup(fault.Kind)
		entry := &entry{fault: fault, kind: kind}
		e.entries = append(e.entries, entry)
		switch {
		case !ok:
			entry.reason = "there is no such kind of fault"
			continue
		case kind.Lasts() && fault.Lasts <= 0:
			entry.reason = "it does not say for how long"
			continue
		}
		steps = append(steps, step{at: fault.At, entry: entry})
		if kind.Lasts() && fault.Point == "" {
			steps = append(steps, step{at: fault.End(), ends: true, entry: entry})
		}
	}
	slices.SortStableFunc(steps, inOrder)
	return steps
}

// inOrder compares steps by time. At equal times ends come first.
func inOrder(a, b step) int {
	if byTime := cmp.Compare(a.at, b.at); byTime != 0 || a.ends == b.ends {
		return byTime
	}
	if a.ends {
		return -1
	}
	return 1
}

// start begins a fault, unless another one acts on the same thing.
func (e *Engine) start(ctx context.Context, entry *entry) {
	if !e.reserve(entry) {
		return
	}
	if entry.kind.Lasts() || !entry.kind.slow {
		e.begin(ctx, entry)
		return
	}
	e.actions.Go(func() { e.begin(ctx, entry) })
}

// awaitPoint begins a fault when its point is reached, and ends it if it lasts. The operation at
// the point waits until the fault has begun.
func (e *Engine) awaitPoint(ctx context.Context, entry *entry) {
	fault := entry.fault
	gate := e.surface.Await(fault.Point, fault.Process, fault.Number)
	defer gate.Release()
	timer := time.NewTimer(time.Until(e.began.Add(fault.Until)))
	defer timer.Stop()
	select {
	case <-gate.Reached():
	case <-timer.C:
		entry.reason = fmt.Sprintf("there was no %s from %v to %v", fault.arrival(), fault.At, fault.Until)
		return
	case <-ctx.Done():
		entry.reason = "the run ended before its point was reached"
		return
	}
	if !e.reserve(entry) {
		return
	}
	e.begin(ctx, entry)
	gate.Release()
	if entry.fired && entry.kind.Lasts() {
		sleepUntil(ctx, time.Now().Add(fault.Lasts))
		e.heal(ctx, entry)
	}
}

// reserve claims what the fault acts on, unless another fault has.
func (e *Engine) reserve(entry *entry) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if expected := entry.kind.lacks(len(e.members)); expected != "" {
		entry.reason = fmt.Sprintf("it takes %s and there are %d", expected, len(e.members))
		return false
	}
	claimed := entry.fault.claimed(e.members)
	for _, name := range claimed {
		if user, taken := e.inUse[name]; taken {
			entry.reason = name + " is in use by " + user
			return false
		}
	}
	entry.claimed = claimed
	for _, name := range claimed {
		e.inUse[name] = entry.fault.Kind
	}
	return true
}

func (e *Engine) release(entry *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range entry.claimed {
		delete(e.inUse, name)
	}
	entry.claimed = nil
}

// begin makes the fault happen. If that fails, it is undone, as it may have happened in part.
func (e *Engine) begin(ctx context.Context, entry *entry) {
	ctx, cancel := context.WithTimeout(ctx, actionTimeout)
	defer cancel()
	began := e.now()
	note, err := entry.kind.begin(action{ctx, e.surface, entry.fault})
	e.mu.Lock()
	entry.begin, entry.end = began, e.now()
	if entry.fired = err == nil; entry.fired {
		entry.note = note
	} else {
		entry.reason = oneLine(err)
	}
	e.mu.Unlock()
	switch {
	case err == nil && entry.kind.Lasts():
		return // Run heals it
	case err != nil && entry.kind.Lasts():
		e.heal(ctx, entry)
	default:
		e.release(entry)
	}
}

// heal ends a fault. It starts a goroutine only if that takes time or has to be retried.
func (e *Engine) heal(ctx context.Context, entry *entry) {
	// Healing continues even if the run is cut short.
	ctx = context.WithoutCancel(ctx)
	if !entry.kind.slow && e.tryToHeal(ctx, entry) == nil {
		e.healed(entry, nil)
		return
	}
	e.actions.Go(func() {
		err := e.tryToHeal(ctx, entry)
		for attempts := 1; err != nil && attempts < maxHealAttempts; attempts++ {
			time.Sleep(healPause)
			err = e.tryToHeal(ctx, entry)
		}
		e.healed(entry, err)
	})
}

func (e *Engine) tryToHeal(ctx context.Context, entry *entry) error {
	ctx, cancel := context.WithTimeout(ctx, actionTimeout)
	defer cancel()
	return entry.kind.end(action{ctx, e.surface, entry.fault})
}

func (e *Engine) healed(entry *entry, err error) {
	e.mu.Lock()
	if entry.end = e.now(); err != nil {
		entry.unhealed = fmt.Errorf("faults: %q could not be healed: %s", entry.fault, oneLine(err))
	}
	e.mu.Unlock()
	e.release(entry)
}

func (e *Engine) report() (Report, error) {
	report := Report{Counts: map[string]int{}}
	var problems []error
	for _, entry := range e.entries {
		problems = append(problems, entry.unhealed)
		if !entry.fired {
			report.NotFired = append(report.NotFired, NotFired{Fault: entry.fault, Reason: entry.reason})
			continue
		}
		report.Counts[entry.fault.Kind]++
		report.Fired = append(report.Fired, model.Fault{
			Name: entry.fault.Kind, Begin: entry.begin, End: entry.end,
			Note:      entry.describe(),
			Processes: e.processes(entry),
		})
	}
	slices.SortStableFunc(report.Fired, func(a, b model.Fault) int { return cmp.Compare(a.Begin, b.Begin) })
	slices.SortStableFunc(report.NotFired, func(a, b NotFired) int { return cmp.Compare(a.Fault.At, b.Fault.At) })
	return report, errors.Join(problems...)
}

// describe returns what a report says of a fault besides its kind and time.
func (e *entry) describe() string {
	words := []string{e.fault.arguments(), e.note}
	if e.fault.Point != "" {
		words = append(words, "on "+e.fault.arrival())
	}
	words = slices.DeleteFunc(words, func(word string) bool { return word == "" })
	return strings.Join(words, " ")
}

// processes returns what a fault acted on. A fault that names no process, or needs several etcd
// members, acts on etcd as a whole.
func (e *Engine) processes(entry *entry) []string {
	named := entry.fault.named()
	if len(named) == 0 || entry.kind.MinMembers > 0 {
		return e.members
	}
	return named
}

// now returns the simulated nanoseconds since the run began.
func (e *Engine) now() int64 { return int64(time.Since(e.began)) }

// oneLine returns the text of an error, which may have several lines, as one.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// sleepUntil returns false if ctx is done before the time has come.
func sleepUntil(ctx context.Context, then time.Time) bool {
	if ctx.Err() != nil {
		return false
	}
	wait := time.Until(then)
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
