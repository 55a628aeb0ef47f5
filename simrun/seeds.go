package simrun

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/search/swarm"
)

// run runs one seed or many.
func (f *runFlags) run(command *cobra.Command) error {
	if t := f.testedTarget(); t != nil {
		return f.runTested(command, t)
	}
	config, err := f.config(command.ErrOrStderr())
	if err != nil {
		return err
	}
	if err := f.prepareOut(); err != nil {
		return err
	}
	f.banner(command.ErrOrStderr(), config)

	tally := newTally(f, command, config.Last-config.First+1)
	problem := swarm.Run(command.Context(), config, tally.add)
	return tally.finish(problem, command.Context().Err() != nil)
}

// people is where to print for people: standard output, unless it is for JSON.
func (f *runFlags) people(command *cobra.Command) io.Writer {
	if f.json {
		return command.ErrOrStderr()
	}
	return command.OutOrStdout()
}

func (f *runFlags) banner(w io.Writer, config swarm.Config) {
	spec := config.Spec
	faultsFrom := "drawn from the seed"
	switch {
	case spec.Plan != "":
		faultsFrom = "the plan " + f.faults
	case spec.Kinds != nil && len(spec.Kinds) == 0:
		faultsFrom = "none"
	case spec.Kinds != nil:
		faultsFrom = "every one of " + strings.Join(spec.Kinds, ", ")
	case spec.Every:
		faultsFrom = "every kind"
	}
	fmt.Fprintf(w, "watchsim  target %s  scenario %s  seeds %d to %d\n", spec.Target, spec.Scenario, config.First, config.Last)
	bannerOfCode(w, spec)
	switch {
	case !spec.Drawn():
		fmt.Fprintf(w, "  cluster     %s, %s; %v simulated, %s\n", model.Plural(spec.Members, "etcd member"),
			model.Plural(spec.Servers, "API server"), spec.Duration, model.Plural(spec.Operations, "operation"))
		fmt.Fprintf(w, "  faults      %s\n", faultsFrom)
	case config.First == config.Last:
		fmt.Fprintf(w, "  knobs       %s\n", strings.Join(spec.Unusual(), " "))
	default:
		but := ""
		for _, knob := range f.knobs() {
			but += ", but " + knob.setting
		}
		fmt.Fprintf(w, "  knobs       drawn from each seed%s\n", but)
	}
	bannerOfLimits(w, spec, config.Limits)
}

// bannerOfCode prints what other code the binary contains, if any.
func bannerOfCode(w io.Writer, spec scenario.Spec) {
	if spec.Mutant != "" {
		fmt.Fprintf(w, "  mutant      %s\n", spec.Mutant)
	}
	if spec.Use != "" {
		fmt.Fprintf(w, "  use         %s\n", spec.Use)
	}
}

func bannerOfLimits(w io.Writer, spec scenario.Spec, limits swarm.Limits) {
	fmt.Fprintf(w, "  limits      %s\n  oracle      %s\n  workers     %s\n", spec.Limits(), scenario.OracleLimits(), limits)
}

// tally counts and prints outcomes as they arrive.
type tally struct {
	flags              *runFlags
	out, notes, people io.Writer
	total              uint64
	progress           *statusLine

	done                   uint64
	outcomes               map[linearizability.Outcome]uint64
	events, operations     int
	simulated, wall, check float64
	guarantees             map[string]int

	undetermined uint64 // seeds that were two different runs
}

func newTally(f *runFlags, command *cobra.Command, total uint64) *tally {
	notes := command.ErrOrStderr()
	return &tally{
		flags: f, out: command.OutOrStdout(), notes: notes, people: f.people(command), total: total, progress: newStatusLine(notes),
		outcomes: map[linearizability.Outcome]uint64{}, guarantees: map[string]int{},
	}
}

// add counts and prints an outcome. It returns a problem outside of the runs, which would also hit
// the next one.
func (t *tally) add(outcome swarm.Outcome) (problem error) {
	t.progress.clear()
	for _, note := range outcome.Notes {
		fmt.Fprintf(t.notes, "simrun: %s\n", note)
	}
	v := outcome.Verdict
	switch {
	case errors.Is(outcome.Err, swarm.ErrNotDeterministic):
		t.undetermined++
		t.say("%v", outcome.Err)
	case errors.Is(outcome.Err, swarm.ErrOutside):
		fmt.Fprintf(t.notes, "simrun: %v\n", outcome.Err)
	default:
		problem = outcome.Err
	}
	if v.Outcome == "" {
		return problem
	}
	t.done++
	t.outcomes[v.Outcome]++
	t.events += v.WatchEvents
	t.operations += v.Operations
	t.simulated += v.SimulatedSeconds
	t.wall += v.WallSeconds
	t.check += v.CheckSeconds
	for _, guarantee := range v.Broken() {
		t.guarantees[guarantee]++
	}
	t.print(outcome)
	elapsed := time.Since(t.progress.began)
	left := time.Duration(float64(elapsed) * float64(t.total-t.done) / float64(t.done))
	t.progress.say("%d of %d seeds, %d failed, %.1f seeds/s, %v to go",
		t.done, t.total, t.outcomes[linearizability.Failed], float64(t.done)/elapsed.Seconds(), left.Round(time.Second))
	return problem
}

func (t *tally) print(outcome swarm.Outcome) {
	v := outcome.Verdict
	if t.flags.json {
		_ = json.NewEncoder(t.out).Encode(v)
	}
	if v.Outcome == linearizability.Passed && t.total > 1 {
		return
	}
	text := "\n" + paint(t.out, outcome.Report)
	if v.Outcome == linearizability.Failed {
		text += "  again: " + t.flags.reproduce(v) + "\n"
	}
	if v.Folder != "" {
		text += "  artifacts in " + shown(v.Folder) + "\n"
	}
	t.say("%s", strings.TrimSuffix(text, "\n"))
}

// say prints a line for people.
func (t *tally) say(format string, arguments ...any) {
	fmt.Fprintf(t.people, format+"\n", arguments...)
}

// reproduce is the command line that runs a seed again.
func (f *runFlags) reproduce(v scenario.Verdict) string {
	words := []string{"simrun", "--seed", fmt.Sprint(v.Seed)}
	add := func(flag, value, usual string) {
		if value != usual {
			words = append(words, flag, value)
		}
	}
	add("--target", v.Target, targets[0].Name)
	add("--scenario", v.Scenario, scenario.Default)
	add("--mutant", v.Mutant, "")
	add("--use", v.Use, "")
	for _, knob := range f.knobs() {
		words = append(words, knob.flag, knob.value)
	}
	add("--faults", f.faults, "")
	for _, branch := range v.Branches {
		words = append(words, "--branch", branch.String())
	}
	return strings.Join(words, " ")
}

// finish prints the totals and turns them into an exit code, unless a problem ended the range.
func (t *tally) finish(problem error, interrupted bool) error {
	t.progress.clear()
	elapsed := time.Since(t.progress.began)
	failed, inconclusive := t.outcomes[linearizability.Failed], t.outcomes[linearizability.Inconclusive]
	if t.total > 1 || interrupted {
		t.say("\n%d of %d seeds: %d passed, %d failed, %d inconclusive, in %.1f s (%.1f seeds/s)",
			t.done, t.total, t.outcomes[linearizability.Passed], failed, inconclusive, elapsed.Seconds(), float64(t.done)/elapsed.Seconds())
		t.say("%d operations, %d watch events; %.0f simulated seconds in %.1f s of running and %.1f s of checking",
			t.operations, t.events, t.simulated, t.wall, t.check)
		for _, guarantee := range slices.Sorted(maps.Keys(t.guarantees)) {
			t.say("  %s broken in %d", guarantee, t.guarantees[guarantee])
		}
	}
	if interrupted {
		t.say("  interrupted: the seeds that are missing were not run")
	}
	if problem != nil {
		return problem
	}
	return seedsExit(failed > 0, t.undetermined > 0, inconclusive > 0 || t.done < t.total)
}

// seedsExit is the exit code for the outcomes of seeds or histories: whether one failed, was two
// different runs or cannot be read, or is not decided.
func seedsExit(failed, unusable, undecided bool) error {
	switch {
	case failed:
		return exit(exitFailed)
	case unusable:
		return exit(exitUsage)
	case undecided:
		return exit(exitInconclusive)
	}
	return nil
}
