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
	// actionMost is how long one action may take before its context ends.
	actionMost = 10 * time.Second
	// healAttemptsMost is how often the engine tries to heal one fault, and
	// healPause how long it waits in between.
	healAttemptsMost = 5
	healPause        = 500 * time.Millisecond
)

// Report is what became of a plan.
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
	// Reason is a clause that says why, such as "etcd-0 is held by etcd-crash".
	Reason string
}

// Engine carries a plan out on a surface. One goroutine walks the timeline, and only
// actions that take simulated time run in goroutines of their own.
type Engine struct {
	surface Surface
	began   time.Time
	members []string
	entries []*entry
	steps   []step // that are still to come
	actions sync.WaitGroup

	// mu guards held and the outcomes in entries.
	mu   sync.Mutex
	held map[string]string // what is acted on, by the name of the kind that does
}

// NewEngine prepares to carry a plan out. Times count from began.
func NewEngine(plan Plan, surface Surface, began time.Time) *Engine {
	e := &Engine{surface: surface, began: began, members: surface.Members(), held: map[string]string{}}
	e.steps = e.timeline(plan)
	return e
}

// Run returns when the last fault has healed; if ctx ends earlier, it heals at once what
// still lasts. Faults that cannot happen, such as a crash of what is down already,
// are reported as not fired. The error is about faults that could not be healed
// and no others: liveness means nothing after that.
func (e *Engine) Run(ctx context.Context) (Report, error) {
	for len(e.steps) > 0 {
		step := e.steps[0]
		waited := sleepUntil(ctx, e.began.Add(step.at))
		if len(e.steps) == 0 || e.steps[0] != step {
			continue // there is another plan
		}
		e.steps = e.steps[1:]
		switch {
		case step.ends:
			// Cut short or not, what began must end.
			e.finish(ctx, step.entry)
		case waited && step.entry.fault.Point != "":
			e.actions.Go(func() { e.lieInWait(ctx, step.entry) })
		case waited:
			e.start(ctx, step.entry)
		default:
			step.entry.reason = "the run ended before its time"
		}
	}
	e.actions.Wait()
	return e.report()
}

// Replan puts other faults in the place of those that have not begun, in a world that
// stands still. It wakes nobody: what is due before the next step of the plan so far
// begins with that, and if there is none, nothing does. It returns how many faults more
// there are now.
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
	holding    []string
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

// timeline is all steps in order of time. At equal times ends come first, so
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
	if byTime := cmp.Compare(a.at, b.at); byTime != 0 {
		return byTime
	}
	switch {
	case a.ends == b.ends:
		return 0
	case a.ends:
		return -1
	default:
		return 1
	}
}

// start begins a fault, unless another one holds what it acts on.
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

// lieInWait begins a fault when its point is reached, and ends it if it lasts. The
// operation that got there waits until the fault has begun.
func (e *Engine) lieInWait(ctx context.Context, entry *entry) {
	fault := entry.fault
	stop := e.surface.Await(fault.Point, fault.Process, fault.Number)
	defer stop.Release()
	timer := time.NewTimer(time.Until(e.began.Add(fault.Until)))
	defer timer.Stop()
	select {
	case <-stop.Reached():
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
	stop.Release()
	if entry.fired && entry.kind.Lasts() {
		sleepUntil(ctx, time.Now().Add(fault.Lasts))
		e.heal(ctx, entry)
	}
}

// reserve marks what the fault acts on as held.
func (e *Engine) reserve(entry *entry) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if expected := entry.kind.lacks(len(e.members)); expected != "" {
		entry.reason = fmt.Sprintf("it takes %s and there are %d", expected, len(e.members))
		return false
	}
	holding := entry.kind.holds(entry.fault, e.members)
	for _, name := range holding {
		if holder, taken := e.held[name]; taken {
			entry.reason = name + " is held by " + holder
			return false
		}
	}
	entry.holding = holding
	for _, name := range holding {
		e.held[name] = entry.fault.Kind
	}
	return true
}

func (e *Engine) release(entry *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range entry.holding {
		delete(e.held, name)
	}
	entry.holding = nil
}

// begin makes the fault happen. One that fails is undone, as it may have
// happened in part.
func (e *Engine) begin(ctx context.Context, entry *entry) {
	ctx, cancel := context.WithTimeout(ctx, actionMost)
	defer cancel()
	began := e.now()
	note, err := entry.kind.begin(ctx, e.surface, entry.fault)
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
		return // until finish
	case err != nil && entry.kind.Lasts():
		e.heal(ctx, entry)
	default:
		e.release(entry)
	}
}

// finish ends a fault that lasts.
func (e *Engine) finish(ctx context.Context, entry *entry) {
	if entry.fired {
		e.heal(ctx, entry)
	}
}

// heal ends a fault. Only where that takes time, or has to be tried again, does
// it use a goroutine of its own.
func (e *Engine) heal(ctx context.Context, entry *entry) {
	// Healing goes on even if the run is cut short.
	ctx = context.WithoutCancel(ctx)
	if !entry.kind.slow && e.tryToHeal(ctx, entry) == nil {
		e.healed(entry, nil)
		return
	}
	e.actions.Go(func() {
		err := e.tryToHeal(ctx, entry)
		for attempts := 1; err != nil && attempts < healAttemptsMost; attempts++ {
			time.Sleep(healPause)
			err = e.tryToHeal(ctx, entry)
		}
		e.healed(entry, err)
	})
}

func (e *Engine) tryToHeal(ctx context.Context, entry *entry) error {
	ctx, cancel := context.WithTimeout(ctx, actionMost)
	defer cancel()
	return entry.kind.end(ctx, e.surface, entry.fault)
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

// describe is what a report says of a fault besides its kind and its time.
func (e *entry) describe() string {
	words := []string{e.fault.arguments(), e.note}
	if e.fault.Point != "" {
		words = append(words, "on "+e.fault.arrival())
	}
	words = slices.DeleteFunc(words, func(word string) bool { return word == "" })
	return strings.Join(words, " ")
}

// processes are what a fault acted on. What names no process, or takes several
// etcd members, is done to etcd as a whole.
func (e *Engine) processes(entry *entry) []string {
	var named []string
	for _, name := range []string{entry.fault.Member, entry.fault.Server, entry.fault.Client, entry.fault.Host, entry.fault.From, entry.fault.To} {
		if name != "" {
			named = append(named, name)
		}
	}
	if len(named) == 0 || entry.kind.MembersLeast > 0 {
		return e.members
	}
	return named
}

// now is simulated nanoseconds since the run began.
func (e *Engine) now() int64 { return int64(time.Since(e.began)) }

// oneLine is the text of an error that may join several.
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
