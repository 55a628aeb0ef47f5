package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/shrink"
	"github.com/watchsim/watchsim/search/swarm"
)

const (
	// shrinkWorkers is how many candidates are tried concurrently.
	shrinkWorkers = 2
	// shrinkBudget is the real time for shrinking a run.
	shrinkBudget = 45 * time.Second
	// replayProcesses is how many fresh processes replay a smaller run, and replaysEach how often
	// each of them does.
	replayProcesses = 4
	replaysEach     = 5
)

// smaller is the result of shrinking a failing run. Each pair is before and after.
type smaller struct {
	Seed       uint64 `json:"seed"`
	Guarantee  string `json:"guarantee"`
	Operations [2]int `json:"operations"`
	Clients    [2]int `json:"clients"`
	Faults     [2]int `json:"faults"`
	Switches   [2]int `json:"switches"`
	Stalls     [2]int `json:"stalls"`
	// Tried counts candidates, Seconds is the real time, and Processor the processor time of all
	// workers, in seconds.
	Tried     int     `json:"tried"`
	Complete  bool    `json:"complete"`
	Seconds   float64 `json:"seconds"`
	Processor float64 `json:"processor"`
	// Replays counts repetitions in fresh processes, and Same those with the same hash and the same
	// broken guarantee.
	Replays int `json:"replays"`
	Same    int `json:"same"`
}

// shrink shrinks the first failure found of a mutant, unless that has been done.
func (h *hunter) shrink(ctx context.Context, binary string, m mutant.Mutant) error {
	var found *result
	for _, r := range h.trials(m) {
		if r.Smaller != nil {
			return nil
		}
		if found == nil && r.Found > 0 && !strings.HasPrefix(r.Guarantees[0], "(") {
			found = &r
		}
	}
	if found == nil || m.Equivalent != "" {
		return nil
	}
	spec, err := h.spec(ctx, m)
	if err != nil {
		return err
	}
	s, err := shrunk(ctx, binary, m, spec, *found)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, swarm.ErrDied):
		reason, _, _ := strings.Cut(err.Error(), "\n")
		fmt.Fprintf(h.stdout, "%-24s leaves nothing to make smaller: %s\n", m.Name, reason)
		return nil
	case errors.Is(err, shrink.ErrNotBroken):
		fmt.Fprintf(h.stdout, "%-24s seed %d was found with other source, and is another run now\n", m.Name, found.Found)
		return nil
	case err != nil:
		return fmt.Errorf("making a run of %s smaller: %w", m.Name, err)
	}
	found.Smaller = &s
	h.mu.Lock()
	defer h.mu.Unlock()
	fmt.Fprintf(h.stdout, "%-24s seed %d, %s: %s\n", m.Name, s.Seed, s.Guarantee, s.text())
	return h.results.add(*found)
}

// shrunk shrinks a failing run and replays the result.
func shrunk(ctx context.Context, binary string, m mutant.Mutant, spec scenario.Spec, found result) (smaller, error) {
	s := smaller{Seed: found.Found, Guarantee: found.Guarantees[0]}
	spec = spec.WithSeed(found.Found)
	limits := swarm.DefaultLimits().WithWorkers(shrinkWorkers)
	on := environment(m.Name, spec.Target)
	pool := swarm.NewPool(binary, limits)
	defer pool.Close()
	whole, err := pool.Do(ctx, swarm.Job{Spec: spec, Details: true, Environment: on})
	if err != nil {
		return s, err
	}
	began, used := time.Now(), processor()
	searching := swarm.NewPool(binary, limits)
	config := shrink.Config{Try: shrink.Runner(searching, s.Guarantee, on), Workers: limits.Workers, Budget: shrinkBudget}
	best, err := shrink.Shrink(ctx, config, shrink.Case{Spec: spec, Tape: whole.Details.Tape}, s.Guarantee)
	searching.Close()
	if err != nil {
		return s, err
	}
	s.Processor = (processor() - used).Seconds()
	s.Seconds, s.Tried, s.Complete = time.Since(began).Seconds(), best.Tried, best.Complete
	job := swarm.Job{Spec: best.Case.Spec, Tape: best.Case.Tape, Details: true, Environment: on}
	after, err := pool.Do(ctx, job)
	if err != nil {
		return s, err
	}
	s.Operations = [2]int{best.Before.Operations, after.Verdict.Operations}
	s.Clients = [2]int{len(whole.Details.Parts), len(after.Details.Parts)}
	s.Faults = [2]int{whole.Details.Faults(), after.Details.Faults()}
	s.Switches = [2]int{whole.Details.Forced.Switches, after.Details.Forced.Switches}
	s.Stalls = [2]int{whole.Details.Forced.Stalls, after.Details.Forced.Stalls}
	return s, s.replay(ctx, binary, job, after)
}

// processor is the processor time of this process and of its finished workers.
func processor() (used time.Duration) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var usage unix.Rusage
		_ = unix.Getrusage(who, &usage)
		used += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return used
}

// replay repeats a run in fresh processes and counts how often it was the same.
func (s *smaller) replay(ctx context.Context, binary string, job swarm.Job, first swarm.Answer) error {
	for range replayProcesses {
		fresh := swarm.NewPool(binary, swarm.DefaultLimits().WithWorkers(1))
		for range replaysEach {
			again, err := fresh.Do(ctx, job)
			if err != nil {
				fresh.Close()
				return err
			}
			s.Replays++
			if again.Verdict.Hash == first.Verdict.Hash && shrink.Breaks(again.Verdict, s.Guarantee) {
				s.Same++
			}
		}
		fresh.Close()
	}
	return nil
}

// text describes the smaller run.
func (s smaller) text() string {
	cut := ""
	if !s.Complete {
		cut = ", cut short"
	}
	return fmt.Sprintf("%d operations, %d clients, %d faults, %d forced switches and %d stalls after %d tries in %.1f s%s; %d of %d replays the same",
		s.Operations[1], s.Clients[1], s.Faults[1], s.Switches[1], s.Stalls[1], s.Tried, s.Seconds, cut, s.Same, s.Replays)
}

const smallerPreface = `# Failing runs, minimised

What ` + "`simrun shrink`" + ` leaves of a failing run of each bug of the [track record](track-record.md): %d runs of different bugs.
[numbers.md](numbers.md) compares its cost with that of earlier source.
Each pair is before and after. A forced switch is a deviation from goroutines taking turns.

| median of what is left | |
|---|---|
| operations | %.0f |
| clients | %.0f |
| faults | %.0f |
| forced switches and stalls | %.0f |
| processor time | %.1f s |
| replays in fresh processes with the same hash | %d of %d |

%d searches were cut short by the limit of %v, or because no part of the run could be removed.

    make shrink-record    # measures what is missing and writes this page

| bug | seed | guarantee | operations | clients | faults | forced switches | stalls | tries | processor time | replays |
|---|---|---|---|---|---|---|---|---|---|---|
`

// smallerTable renders the results of shrinking as Markdown.
func smallerTable(all []mutant.Mutant, results []result) string {
	var rows strings.Builder
	var operations, clients, faults, forced, seconds []float64
	replays, same, cut := 0, 0, 0
	for _, m := range all {
		for _, r := range trialsOf(results, m) {
			s := r.Smaller
			if s == nil {
				continue
			}
			operations = append(operations, float64(s.Operations[1]))
			clients = append(clients, float64(s.Clients[1]))
			faults = append(faults, float64(s.Faults[1]))
			forced = append(forced, float64(s.Switches[1]+s.Stalls[1]))
			seconds = append(seconds, s.Processor)
			replays, same = replays+s.Replays, same+s.Same
			end := ""
			if !s.Complete {
				cut++
				end = ", cut short"
			}
			pair := func(of [2]int) string { return fmt.Sprintf("%d → %d", of[0], of[1]) }
			fmt.Fprintf(&rows, "| %s | %d | %s | %s | %s | %s | %s | %s | %d | %.1f s%s | %d of %d |\n",
				m.Name, s.Seed, s.Guarantee, pair(s.Operations), pair(s.Clients), pair(s.Faults), pair(s.Switches), pair(s.Stalls),
				s.Tried, s.Processor, end, s.Same, s.Replays)
		}
	}
	if len(operations) == 0 {
		return "# Failing runs, minimised\n\nNothing has been measured yet.\n"
	}
	return fmt.Sprintf(smallerPreface, len(operations), quantile(operations, 0.5), quantile(clients, 0.5), quantile(faults, 0.5),
		quantile(forced, 0.5), quantile(seconds, 0.5), same, replays, cut, shrinkBudget) + rows.String()
}
