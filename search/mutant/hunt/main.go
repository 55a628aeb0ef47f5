// Command hunt answers one question: in how many seeds does simulation find known bugs?
//
// It builds simrun with all of them inside, each switched on separately. For each mutant it runs
// seeds of the scenario any until one fails. A failure counts if the same seed passes without the
// bug, and breaks only guarantees that the bug can break. That is repeated for several ranges of
// seeds; each is a trial. Controls, which are not bugs, must never fail.
//
//	go run ./search/mutant/hunt [--only A03,A01] [--trials 20] [--seeds 5000] [--time 10m]
//
// Every trial is written to --results as it ends, and is not repeated if it is there: an
// interrupted hunt resumes. With --table the results become a table in Markdown, and with --curve a
// picture. Results are reported for the tuned and for the held-out mutants. The other flags are for
// hunts in other runs or other code, and for measurements of mutants besides how soon they are
// found; --help lists them.
//
// The exit code is 0 if every bug that should be found was, and no control failed; 1 if not; 2 if
// the hunt was impossible.
//
//   - trial.go: one trial, and what counts as found
//   - strategies.go, elsewhere.go: which strategy of schedules finds what, and in which runs
//   - runner.go: runs in worker processes, and a hunt's view of a verdict
//   - halves.go: results for the tuned and the held-out mutants
//   - probe.go, effects.go: how often runs reach the edits, and which edits change runs
//   - tested.go, together.go: mutants in tests of package simtest, one by one or in the same runs
//   - fitting.go: which mutants apply to the code
//   - suite.go, suite_build.go: whether the tests of the edited package notice the edit
//   - smaller.go: shrinking failing runs, and the table of what is left of them
//   - replays.go: recording and replaying failures
//   - results.go: the file of results
//   - table.go, curve.go: the table of what was found, and the picture
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/parallel"
	"github.com/watchsim/watchsim/search/selfbuild"
	"github.com/watchsim/watchsim/search/swarm"
)

// The exit codes.
const (
	allFound = iota
	someLost
	notHunted
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options are the flags.
type options struct {
	only     string
	trials   int
	seeds    int
	time     time.Duration
	jobs     int
	short    bool
	suites   bool
	shrink   bool
	compare  bool
	replays  int
	probe    int
	target   string
	half     string
	together bool
	in       [][]string
	use      selfbuild.Uses
	results  string
	table    string
	curve    string
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("hunt", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.only, "only", "", "hunt only these `mutants`, in this order: names, separated by commas; a name that ends in * is a prefix")
	flags.IntVar(&o.trials, "trials", 1, "trials for each mutant, each with seeds of its own")
	flags.IntVar(&o.seeds, "seeds", 5000, "the most seeds of a trial")
	flags.DurationVar(&o.time, "time", 10*time.Minute, "processor time of a trial, which ends soon after it")
	flags.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "number of mutants hunted concurrently")
	flags.BoolVar(&o.short, "short", false, "hunt the mutants that have a budget, within it, in the runs that they name")
	flags.BoolVar(&o.suites, "suites", false, "instead of hunting, run the tests of the edited packages with each edit")
	flags.BoolVar(&o.shrink, "shrink", false, "instead of hunting, shrink one failing run of each mutant that was found")
	flags.BoolVar(&o.compare, "compare", false, "hunt with each strategy of schedules in turn; the table shows which finds what")
	flags.IntVar(&o.replays, "replays", 0, "instead of hunting, record this many failures and replay each in a process of its own")
	flags.IntVar(&o.probe, "probe", 0, "instead of hunting, count how often this many `runs` without a bug reach the place of each edit; with --target, how many of them the edit changes")
	flags.StringVar(&o.target, "target", "", "hunt in the tests of a `target`: controlplane or operator, which have mutants of their own, or http")
	flags.BoolVar(&o.together, "together", false, "with --target controlplane: switch all mutants on in the same runs, and find out which of them make a run fail")
	flags.StringVar(&o.half, "half", "", "hunt only one `half` of the mutants: tuned, or held-out, on which nothing is tuned")
	flags.Func("in", "hunt in runs with these `flags` of simrun instead of those of the scenario any, to find out where a bug shows sooner; own stands for the mutant's; can be repeated", func(text string) error {
		o.in = append(o.in, strings.Fields(text))
		return nil
	})
	flags.Func("use", "hunt in another version, or in your own folder, of a `module`, as simrun does with that flag, with --results of its own; mutants that do not apply to it are skipped; can be repeated", func(text string) error {
		use, err := selfbuild.ParseUses(text)
		o.use = append(o.use, use...)
		return err
	})
	flags.StringVar(&o.results, "results", filepath.Join("out", "hunt.jsonl"), "the `file` of results, which is read first and appended to")
	flags.StringVar(&o.table, "table", "", "write the results as a table to this `file`")
	flags.StringVar(&o.curve, "curve", "", "draw the share of bugs found against processor time, as SVG, to this `file`")
	if err := flags.Parse(args); err != nil {
		return notHunted
	}
	var lost []string
	err := o.check(flags, args)
	if err == nil {
		lost, err = hunt(ctx, o, stdout)
	}
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "hunt: %v\n", err)
		return notHunted
	case len(lost) > 0:
		fmt.Fprintf(stdout, "\nlost: %s\n", strings.Join(lost, "; "))
		return someLost
	}
	return allFound
}

// check returns an error for flags that do not go together.
func (o options) check(flags *flag.FlagSet, args []string) error {
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case !slices.Contains([]string{"", tuned, heldOut}, o.half):
		return fmt.Errorf("--half: expected %s or %s, found %q", tuned, heldOut, o.half)
	case o.target != "" && o.testedTarget() == nil:
		var names []string
		for _, one := range selfbuild.AllTested() {
			names = append(names, one.Name)
		}
		return fmt.Errorf("--target: expected one of %s, found %q", strings.Join(names, ", "), o.target)
	case o.target == "http" && (!given["results"] || o.together):
		return fmt.Errorf("--target http: expected --results with a file of its own, as results of other scenarios do not count, and no --together, found %q", args)
	case len(o.use) > 0 && (!given["results"] || o.suites):
		return fmt.Errorf("--use: expected --results with a file of its own, as results of other code do not count, and no --suites, found %q", args)
	case flags.NArg() > 0 || o.probe < 0 || o.trials < 0 || o.seeds < 1 || o.jobs < 1 || o.time <= 0:
		return fmt.Errorf("expected flags alone, trials of at least 0, and seeds, jobs and time above 0, found %q", args)
	}
	return nil
}

// choose returns the mutants that the flags name, in the order of --only.
func choose(o options) ([]mutant.Mutant, error) {
	all := mutant.All()
	if t := o.testedTarget(); t != nil {
		names := strings.FieldsFunc(o.only, func(r rune) bool { return r == ',' })
		all = slices.DeleteFunc(t.ToChoose(names...), func(m mutant.Mutant) bool { return m.Equivalent != "" || t.Test(m) == "" })
	}
	if o.only != "" {
		var chosen []mutant.Mutant
		for word := range strings.SplitSeq(o.only, ",") {
			named := slices.DeleteFunc(slices.Clone(all), func(m mutant.Mutant) bool { return !isNamed(m.Name, word) })
			if len(named) == 0 {
				_, err := mutant.Find(word)
				return nil, fmt.Errorf("--only: %w", err)
			}
			known := namesOf(chosen)
			chosen = append(chosen, slices.DeleteFunc(named, func(m mutant.Mutant) bool { return slices.Contains(known, m.Name) })...)
		}
		all = chosen
	}
	all = slices.DeleteFunc(all, func(m mutant.Mutant) bool {
		// With one fix alone, runs still show the other findings.
		return o.short && m.Budget == 0 || o.half != "" && halfOf(m) != o.half || o.only == "" && mutant.IsFix(m.Name)
	})
	if len(all) == 0 {
		return nil, errors.New("expected mutants to hunt, found none: --only, --half and --short (those with a budget) leave none")
	}
	return elsewhere(all, o), nil
}

func isNamed(name, word string) bool {
	prefix, isPrefix := strings.CutSuffix(word, "*")
	return name == word || isPrefix && strings.HasPrefix(name, prefix)
}

// hunt makes the missing trials and returns what was not found.
func hunt(ctx context.Context, o options, stdout io.Writer) (lost []string, err error) {
	chosen, err := choose(o)
	if err == nil {
		chosen, err = o.fitting(chosen, stdout, false)
	}
	if err != nil {
		return nil, err
	}
	results, err := openResults(o.results)
	if err != nil {
		return nil, err
	}
	defer results.close()
	h := &hunter{options: o, results: results, stdout: stdout}
	switch {
	case o.suites:
		err = h.suites(ctx, chosen)
	case o.shrink:
		err = h.shrinkAll(ctx, chosen)
	case o.replays > 0:
		return nil, h.replayAll(ctx, chosen)
	case o.target != "":
		return h.testedAll(ctx, o.testedTarget(), chosen)
	case o.probe > 0:
		return h.probeAll(ctx, chosen)
	case o.comparing():
		err = h.compare(ctx, chosen)
	default:
		err = h.withPool(func() error { return h.mutants(ctx, chosen) })
	}
	if err != nil && ctx.Err() != nil {
		return nil, errors.New("interrupted; what had ended is in " + o.results)
	}
	if err != nil {
		return nil, err
	}
	if o.table != "" {
		text := table(elsewhere(mutant.All(), options{short: o.short}), results.all)
		switch {
		case o.shrink:
			text = smallerTable(elsewhere(mutant.All(), o), results.all)
		case o.comparing():
			text = strategyTable(chosen, o.strategies(), results.all)
		}
		if err := os.WriteFile(o.table, []byte(text), 0o644); err != nil {
			return nil, fmt.Errorf("--table: %w", err)
		}
	}
	if o.curve != "" {
		picture, err := drawCurves(curvesOf(elsewhere(mutant.All(), o), results.all), o.time.Seconds())
		if err == nil {
			err = os.WriteFile(o.curve, picture, 0o644)
		}
		if err != nil {
			return nil, fmt.Errorf("--curve: %w", err)
		}
	}
	if !o.suites && !o.shrink && !o.comparing() {
		fmt.Fprint(stdout, sharesOf(chosen, results.all))
		for _, m := range chosen {
			if reason := judge(m, h.trials(m)); reason != "" {
				lost = append(lost, reason)
			}
		}
	}
	return lost, nil
}

// withPool builds simrun and runs a hunt with a pool of its workers.
func (h *hunter) withPool(hunt func() error) error {
	binary, err := h.build()
	if err != nil {
		return err
	}
	pool := swarm.NewPool(binary, swarm.DefaultLimits().WithWorkers(h.options.jobs))
	defer pool.Close()
	h.run, h.spec = runsIn(pool), asked(binary)
	return hunt()
}

// mutants hunts several mutants concurrently. One that is hunted in several kinds of runs has them
// in turn.
func (h *hunter) mutants(ctx context.Context, chosen []mutant.Mutant) error {
	var same [][]mutant.Mutant
	for _, m := range chosen {
		if n := len(same) - 1; n >= 0 && same[n][0].Name == m.Name {
			same[n] = append(same[n], m)
		} else {
			same = append(same, []mutant.Mutant{m})
		}
	}
	return parallel.Each(ctx, h.options.jobs, same, func(ctx context.Context, same []mutant.Mutant) error {
		for _, m := range same {
			if err := h.mutant(ctx, m); err != nil {
				return err
			}
		}
		return nil
	})
}

// shrinkAll shrinks a failing run of each mutant.
func (h *hunter) shrinkAll(ctx context.Context, chosen []mutant.Mutant) error {
	binary, err := h.build()
	if err != nil {
		return err
	}
	h.spec = asked(binary)
	for _, m := range chosen {
		if err := h.shrink(ctx, binary, m); err != nil {
			return err
		}
	}
	return nil
}

// build builds simrun with every mutant inside.
func (h *hunter) build() (binary string, err error) {
	fmt.Fprintln(h.stdout, "building simrun with all mutants inside; minutes the first time")
	began := time.Now()
	all, err := h.options.fitting(mutant.All(), h.stdout, true)
	if err != nil {
		return "", err
	}
	if binary, err = selfbuild.BuildSwitched(h.options.use, all); err == nil {
		fmt.Fprintf(h.stdout, "built in %.0f s\n", time.Since(began).Seconds())
	}
	return binary, err
}
