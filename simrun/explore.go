package simrun

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/search/explore"
	"github.com/watchsim/watchsim/search/swarm"
)

// exploreFlags are the flags of `simrun explore`.
type exploreFlags struct {
	runFlags
	strategy, scope      string
	bound, depth         int
	skipKnown            bool
	runs, failures       int
	budget               time.Duration
	delays               []time.Duration
	windowFrom, windowTo time.Duration
}

// The strategies, by their names for --strategy.
const (
	byRandom     = "random"
	byPriorities = "pct"
	byExhaustion = "exhaustive"
	byBranching  = "branch"
)

func strategyNames() []named {
	return []named{
		{byRandom, "a random walk with stalls, as seeds are"}, {byPriorities, "random priorities that change at random points"},
		{byExhaustion, "every schedule within a bound"}, {byBranching, "random walks that go back to rare states"},
	}
}

// everything is the scope that contains all code.
const everything = "all"

// exploreCommand searches the schedules of a scenario.
func exploreCommand() *cobra.Command {
	flags := exploreFlags{runFlags: runFlags{scenario: "start-reinit", seed: "1"}}
	command := &cobra.Command{
		Use:   "explore",
		Short: "search the schedules of a scenario, up to all of them",
		Long: "explore runs a scenario again and again, each time with another schedule, and says how many different\n" +
			"ones there were. Strategies:\n\n" +
			"  random      what seeds do: a random walk with stalls\n" +
			"  pct         random priorities that change at --depth - 1 random points; a bug of that depth is found with\n" +
			"              a probability that can be stated\n" +
			"  exhaustive  every schedule that deviates at most --bound times from the default one, in which goroutines\n" +
			"              take turns\n" +
			"  branch      random walks that resume from states that few runs have reached, with\n" +
			"              another schedule, other requests and other faults\n\n" +
			"pct and exhaustive decide within a window of simulated time only, and at synchronisation points in the code\n" +
			"of --scope: there a goroutine continues, yields, or is delayed by one of --delays. Two runs have\n" +
			"one shape if they differ only in the order of independent steps. \"Exhausted\" is printed only\n" +
			"when nothing was left out. Failing runs leave folders as those of simrun do, to be replayed.\n\n" +
			"Exit codes: 0 no failure, and with exhaustive everything tried; 1 a guarantee was broken; 2 bad usage;\n" +
			"3 inconclusive, or a limit came before the end of an exhaustive search.",
		Example: "  simrun explore\n" +
			"  simrun explore --strategy pct --depth 4 --mutant A01 --runs 20000\n" +
			"  simrun explore --strategy branch --scenario minute --budget 10m",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return flags.explore(command) },
	}
	set := command.Flags()
	set.StringVar(&flags.strategy, "strategy", byExhaustion, "`name` of the strategy: random, pct, exhaustive or branch")
	set.IntVar(&flags.bound, "bound", 1, "exhaustive: the most deviations from the default schedule, in which goroutines take turns")
	set.BoolVar(&flags.skipKnown, "skip-known", true, "exhaustive: skip deviations that were tried from the same state; false does not rely on the definition of a state")
	set.IntVar(&flags.depth, "depth", 3, "pct: how many ordering constraints the bug is thought to need")
	set.StringVar(&flags.scope, "scope", "", "`prefix` of the names of functions whose synchronisation points are explored, or all (default: the target's cache)")
	set.DurationSliceVar(&flags.delays, "delays", nil, "by how much a goroutine can be delayed (default: the scenario's, or 5ms,300ms)")
	set.DurationVar(&flags.windowFrom, "from", 0, "simulated time at which the window opens (default: the scenario's, or the beginning)")
	set.DurationVar(&flags.windowTo, "to", 0, "simulated time at which it closes (default: the scenario's, or when faults have healed)")
	set.IntVar(&flags.runs, "runs", 100_000, "the most runs; 0 for no limit")
	set.IntVar(&flags.failures, "failures", 1, "end after so many failures; 0 for no limit")
	set.DurationVar(&flags.budget, "budget", 0, "end after so much real time; 0 for no limit")
	flags.registerSpec(command)
	set.Lookup("scenario").Usage = "`name` of the scenario; simrun scenarios lists them"
	set.Lookup("delays").DefValue = ""
	complete(command, "strategy", strategyNames)
	return command
}

// exploredSpec is the spec of the scenario and of how it is explored.
func (f *exploreFlags) exploredSpec() (scenario.Spec, error) {
	spec, err := f.spec()
	if err != nil {
		return spec, err
	}
	seed, _, err := f.seedRange()
	if err != nil {
		return spec, err
	}
	spec = spec.WithSeed(seed)
	if spec.Explore == nil {
		spec.Explore = spec.SearchedWhole()
	}
	e := spec.Explore
	e.From, e.To = cmp.Or(f.windowFrom, e.From), cmp.Or(f.windowTo, e.To)
	if f.delays != nil {
		e.Delays = f.delays
	}
	for _, delay := range e.Delays {
		if delay <= 0 || delay > maxDelay {
			return spec, fmt.Errorf("--delays: expected times above 0 and up to %v, found %v", maxDelay, delay)
		}
	}
	switch {
	case f.scope == everything:
		e.Scope = ""
	case f.scope != "":
		e.Scope = f.scope
	default:
		e.Scope = scenario.CodeOf(spec.Target)
	}
	return spec, spec.Validate()
}

// maxDelay keeps a goroutine from being delayed until after the run.
const maxDelay = 3 * time.Second

// search returns the chosen strategy.
func (f *exploreFlags) search(seed uint64) (explore.Strategy, error) {
	switch {
	case f.runs < 0 || f.failures < 0 || f.budget < 0:
		return nil, fmt.Errorf("expected limits of 0 or more, found --runs %d --failures %d --budget %v", f.runs, f.failures, f.budget)
	case f.bound < 0:
		return nil, fmt.Errorf("--bound: expected 0 or more deviations, found %d", f.bound)
	case f.depth < 1:
		return nil, fmt.Errorf("--depth: expected at least 1, found %d", f.depth)
	}
	switch f.strategy {
	case byRandom:
		return explore.NewRandom(seed), nil
	case byPriorities:
		return explore.NewPriorities(seed, f.depth), nil
	case byExhaustion:
		strategy := explore.NewExhaustive(seed, f.bound)
		strategy.FromKnown = !f.skipKnown
		return strategy, nil
	case byBranching:
		return explore.NewBranching(seed), nil
	}
	return nil, fmt.Errorf("--strategy: %w", checkName("strategy", f.strategy, strategyNames()))
}

func (f *exploreFlags) explore(command *cobra.Command) error {
	spec, err := f.exploredSpec()
	if err != nil {
		return err
	}
	strategy, err := f.search(spec.Seed)
	if err != nil {
		return err
	}
	limits := swarm.DefaultLimits().WithWorkers(f.workers)
	binary, err := binaryFor(command.ErrOrStderr(), spec)
	if err != nil {
		return err
	}
	if err := f.prepareOut(); err != nil {
		return err
	}
	ctx, out, notes := command.Context(), command.OutOrStdout(), command.ErrOrStderr()
	f.exploreBanner(notes, spec, limits)
	pool := swarm.NewPool(binary, limits)
	defer pool.Close()
	keeper := &keeper{flags: f, ctx: ctx, spec: spec, binary: binary, limits: limits, report: out}
	progress := newStatusLine(notes)
	result, err := explore.Search(ctx, strategy, swarm.Attempts(pool, spec),
		explore.Limits{Runs: f.runs, Failures: f.failures, Budget: f.budget, Parallel: limits.Workers},
		func(attempt explore.Attempt, outcome explore.Outcome) {
			if outcome.Failed && !outcome.Unjudged { // whoever has its end is kept
				progress.clear()
				keeper.keep(attempt)
			}
			progress.say("%d runs", attempt.Number+1)
		})
	progress.clear()
	interrupted := ctx.Err() != nil
	if err != nil && !interrupted {
		return err
	}
	f.sum(out, result, strategy, time.Since(progress.began))
	switch {
	case keeper.err != nil:
		return keeper.err
	case result.Failed > 0:
		return exit(exitFailed)
	case interrupted, result.Inconclusive > 0, f.strategy == byExhaustion && result.Exhausted == "", result.Ended == explore.EndedBudget:
		return exit(exitInconclusive)
	}
	return nil
}

func (f *exploreFlags) exploreBanner(w io.Writer, spec scenario.Spec, limits swarm.Limits) {
	e := spec.Explore
	fmt.Fprintf(w, "watchsim  target %s  scenario %s  seed %d  strategy %s\n", spec.Target, spec.Scenario, spec.Seed, f.strategy)
	bannerOfCode(w, spec)
	switch f.strategy {
	case byExhaustion:
		fmt.Fprintf(w, "  bound       %s from the default schedule\n", model.Plural(f.bound, "deviation"))
	case byPriorities:
		fmt.Fprintf(w, "  depth       %d\n", f.depth)
	}
	if f.strategy == byPriorities || f.strategy == byExhaustion {
		fmt.Fprintf(w, "  decisions   in %s, from %v to %v; delays %v\n", cmp.Or(e.Scope, "everything"), e.From, e.To, e.Delays)
	}
	fmt.Fprintf(w, "  ends        after %s\n", strings.Join(f.ends(), ", "))
	bannerOfLimits(w, spec, limits)
}

// ends returns the limits of the search.
func (f *exploreFlags) ends() []string {
	var ends []string
	if f.runs > 0 {
		ends = append(ends, model.Plural(f.runs, "run"))
	}
	if f.failures > 0 {
		ends = append(ends, model.Plural(f.failures, "failure"))
	}
	if f.budget > 0 {
		ends = append(ends, f.budget.String())
	}
	return append(ends, "Ctrl-C")
}

// sum prints the result of the search.
func (f *exploreFlags) sum(out io.Writer, result explore.Result, strategy explore.Strategy, took time.Duration) {
	fmt.Fprintf(out, "%d runs: %d failed, %d inconclusive, in %.1f s (%.1f runs/s)\n",
		result.Runs, result.Failed, result.Inconclusive, took.Seconds(), float64(result.Runs)/took.Seconds())
	say := func(is bool, format string, arguments ...any) {
		if is {
			fmt.Fprintf(out, "  "+format+"\n", arguments...)
		}
	}
	say(result.FirstFailure >= 0, "first failure in run %d", result.FirstFailure+1)
	flat := "new ones still come"
	if result.Flat() {
		flat = "the curve is flat"
	}
	say(result.Runs > 0, "%d distinct shapes; after each tenth of the runs: %s", result.Shapes(), result.Curve())
	say(result.Runs > 0, "%d new shapes in the last tenth: %s", result.NewInLastTenth(), flat)
	switch s := strategy.(type) {
	case *explore.Branching:
		say(true, "%d states that runs have come to", s.States())
	case *explore.Exhaustive:
		say(true, "%d states, in which something was decided; %d deviations lie beyond the bound of %d", s.States(), s.Beyond, f.bound)
		say(result.Unjudged > 0, "%d runs went on as one before, and have its verdict; of %d more that were checked, %d had another",
			result.Unjudged, result.Again, result.Misjudged)
		say(s.Cut > 0, "in %d runs not every decision is known, as the worker died, the run ended early, or there were too many", s.Cut)
		say(s.Lost > 0, "%d runs did not reach their deviations: the same decisions made another run, so that no count is valid", s.Lost)
		say(s.Strays > 0, "%d runs came through a state that was known and ended elsewhere, first run %d at decision %d, where run %d had been: what they differ in is not a channel or a lock",
			s.Strays, s.FirstStray.Run+1, s.FirstStray.Decision+1, s.FirstStray.Before+1)
	}
	say(result.Contradictions > 0, "%d runs ended in a state that was known and showed their clients something else: what they differ in is not a channel or a lock",
		result.Contradictions)
	say(true, "ended: %s", result.Ended)
	say(result.Exhausted != "", "exhausted: %s", result.Exhausted)
	say(result.Exhausted == "" && f.strategy == byExhaustion, "not exhausted")
}

// maxFolders is the largest number of failing runs that leave a folder.
const maxFolders = 20

// keeper repeats failing attempts in fresh workers, which write their artifacts.
type keeper struct {
	flags  *exploreFlags
	ctx    context.Context
	spec   scenario.Spec
	binary string
	limits swarm.Limits
	report io.Writer

	kept int
	err  error
}

func (k *keeper) keep(attempt explore.Attempt) {
	if k.kept == maxFolders || k.err != nil {
		return
	}
	k.kept++
	job, err := swarm.AttemptJob(attempt, k.spec)
	if err == nil {
		job.Folder, err = scenario.NewFolder(filepath.Join(k.flags.out, fmt.Sprintf("%s-explored-%d", job.Spec.Name(), attempt.Number+1)))
	}
	if err != nil {
		k.err = err
		return
	}
	job.Verbose = k.flags.verbose
	answer, err := swarm.Once(k.ctx, k.binary, job, k.limits)
	if err == nil && answer.Verdict.Outcome != linearizability.Failed {
		err = fmt.Errorf("%w: run %d failed, but not in a fresh process", swarm.ErrNotDeterministic, attempt.Number+1)
	}
	if err != nil {
		if k.ctx.Err() == nil {
			k.err = err
		}
		return
	}
	fmt.Fprintf(k.report, "\n%s  run %d; deviations from the default schedule: %s\n  again: simrun replay %s\n\n",
		paint(k.report, answer.Report), attempt.Number+1, deviations(attempt), shown(job.Folder))
}

// deviations describes the deviations of an attempt.
func deviations(attempt explore.Attempt) string {
	switch n := len(attempt.Branches); {
	case n > 0:
		return fmt.Sprintf("those of the seed, and of others from %d instants on, the last of them %v", n, attempt.Branches[n-1].At)
	case attempt.Observe:
		return "those of the seed"
	case attempt.Priorities != nil:
		return "those of a plan of priorities"
	case len(attempt.Deviations) == 0:
		return "none"
	}
	var words []string
	for _, d := range attempt.Deviations {
		words = append(words, fmt.Sprintf("decision %d takes %d", d.Decision+1, d.Chosen))
	}
	return strings.Join(words, ", ")
}
