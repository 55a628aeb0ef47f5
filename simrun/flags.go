package simrun

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/selfbuild"
	"github.com/watchsim/watchsim/search/swarm"
)

// runFlags are the flags of the root command.
type runFlags struct {
	seed, seeds            string
	scenario, target       string
	mutants, use           []string
	members, servers       int
	duration               time.Duration
	operations             int
	faults, out            string
	keepAll, json, verbose bool
	workers                int
	noFork                 bool
	branches, set          []string
	// isGiven reports whether a flag was given.
	isGiven func(name string) bool
}

// register adds the flags of all commands that run seeds.
func (f *runFlags) register(command *cobra.Command) {
	f.registerSpec(command)
	flags := command.Flags()
	flags.StringVar(&f.seeds, "seeds", "", "run a `range` of seeds, such as 1-2000")
	flags.IntVar(&f.members, "etcd-members", 0, "number of etcd members, 1 or 3 (default: the scenario's)")
	flags.IntVar(&f.servers, "servers", 0, "number of API servers (default: the scenario's)")
	flags.IntVar(&f.operations, "operations", 0, "number of reads and writes (default: the scenario's)")
	flags.StringArrayVar(&f.branches, "branch", nil, "from this `place` on take the schedule of another seed, such as 12.5s,seed=3 or decision=812,seed=3; "+
		"with ,redraw at its end the clients' operations and the faults, too; can be repeated")
	flags.BoolVar(&f.keepAll, "keep-all", false, "keep the artifacts of runs that pass, too")
	flags.BoolVar(&f.json, "json", false, "print one JSON object a run on standard output")
	flags.BoolVar(&f.noFork, "no-fork", false, "boot each run in a process of its own instead of copying one that has booted; the runs are the same")
}

// registerSpec adds the flags that say what to run. Values that are already set are the defaults.
func (f *runFlags) registerSpec(command *cobra.Command) {
	flags := command.Flags()
	f.isGiven = flags.Changed
	flags.StringVar(&f.seed, "seed", f.seed, "the `seed`, a whole number")
	flags.StringVar(&f.scenario, "scenario", f.scenario, "`name` of the scenario; simrun scenarios lists them (default: "+scenario.Default+" for one seed, "+scenario.Any+" for a range)")
	flags.StringVar(&f.target, "target", "", "`name` of the cacher under test (default: the one that has the mutant, or "+targets[0].Name+")")
	flags.StringSliceVar(&f.mutants, "mutant", nil, "`name` of a known bug to put into the code under test; simrun mutants lists them; can be repeated")
	flags.StringSliceVar(&f.use, "use", nil, "build with another version or your own folder of a `module`, such as go.etcd.io/etcd/server/v3=v3.7.3 or k8s.io/apiserver=FOLDER; can be repeated")
	flags.StringArrayVar(&f.set, "set", nil, "set a `knob`, such as servers=2 or gates=WatchList=false; simrun knobs lists them; can be repeated")
	flags.DurationVar(&f.duration, "duration", 0, "simulated length of a run (default: the scenario's)")
	flags.StringVar(&f.faults, "faults", "", "all, none, every, `kinds` such as compaction,reset, or the path of a plan; simrun kinds lists them (default: the scenario's)")
	flags.StringVarP(&f.out, "out", "o", "out", "`folder` for artifacts; each run gets one of its own below it")
	registerWorkers(command, &f.workers)
	registerVerbose(command, &f.verbose)
	complete(command, "scenario", scenarioNames)
	complete(command, "target", allTargetNames)
	complete(command, "mutant", mutantNames)
	complete(command, "faults", faultNames)
}

func registerWorkers(command *cobra.Command, workers *int) {
	*workers = swarm.DefaultLimits().Workers
	command.Flags().Func("workers", fmt.Sprintf("`number` of worker processes (default %d)", *workers), func(text string) (err error) {
		if *workers, err = strconv.Atoi(text); err != nil || *workers < 1 {
			return fmt.Errorf("expected at least 1 worker, found %s", text)
		}
		return nil
	})
}

func registerVerbose(command *cobra.Command, verbose *bool) {
	command.Flags().BoolVarP(verbose, "verbose", "v", false, "say all that is known of a run: coverage, faults, and planned faults that did not fire")
}

// spec turns the flags into a spec without a seed.
func (f *runFlags) spec() (scenario.Spec, error) {
	usual := scenario.Default
	if f.seeds != "" {
		usual = scenario.Any
	}
	name := cmp.Or(f.scenario, usual)
	if err := checkName("scenario", name, scenarioNames()); err != nil {
		return scenario.Spec{}, err
	}
	spec, err := scenario.Named(name)
	if err != nil {
		return spec, err
	}
	if spec.Target, err = f.chosenTarget(); err != nil {
		return spec, err
	}
	spec.Mutant = strings.Join(f.mutants, ",")
	uses, err := selfbuild.ParseUses(f.use...)
	if err != nil {
		return spec, fmt.Errorf("--use: %w", err)
	}
	spec.Use = uses.String()
	if hasStore(spec.Target) {
		if err := spec.Set("members", "1"); err != nil {
			return spec, err
		}
	}
	for _, knob := range f.knobs() {
		name, value, complete := strings.Cut(knob.setting, "=")
		err := checkName("knob", name, knobNames())
		if err == nil && !complete {
			err = fmt.Errorf("expected a knob and its value, such as %s=%s, found %q", name, scenario.UsualValue, knob.setting)
		}
		if err == nil {
			err = spec.Set(name, value)
		}
		if err != nil {
			return spec, fmt.Errorf("%s: %w", knob.flag, err)
		}
	}
	if hasStore(spec.Target) && spec.Members != 1 {
		return spec, fmt.Errorf("--etcd-members: expected 1 for the target %s, whose store is the only member, found %d", spec.Target, spec.Members)
	}
	if err := f.chooseFaults(&spec); err != nil {
		return spec, err
	}
	for _, text := range f.branches {
		branch, err := parseBranch(text, spec, noHistory)
		if err != nil {
			return spec, err
		}
		spec.Branches = append(spec.Branches, branch)
	}
	return spec, nil
}

// chosenTarget returns the requested target, or else the one that has the mutants, or else the
// default.
func (f *runFlags) chosenTarget() (string, error) {
	for _, name := range f.mutants {
		if err := checkName("mutant", name, mutantNames()); err != nil {
			return "", err
		}
	}
	names := strings.Join(f.mutants, ",")
	_, owner, err := mutant.FindAll(names)
	if err != nil {
		return "", fmt.Errorf("--mutant: %w", err)
	}
	if t := f.testedTarget(); t != nil {
		return "", fmt.Errorf("expected another target than %s, which only `simrun --seed` and `simrun --seeds` run", t.Name)
	}
	chosen := cmp.Or(f.target, owner, targets[0].Name)
	if err := checkName("target", chosen, allTargetNames()); err != nil {
		return "", err
	}
	if owner != "" && chosen != owner {
		return "", fmt.Errorf("--target: expected %s, which has the mutant %s, found %s; leave the flag out", owner, names, chosen)
	}
	return chosen, nil
}

// given is a flag with its value that sets a knob, and the knob as name=value.
type given struct{ flag, value, setting string }

// knobs returns the knobs that flags set.
func (f *runFlags) knobs() (knobs []given) {
	for _, setting := range f.set {
		knobs = append(knobs, given{"--set", setting, setting})
	}
	add := func(flag, knob string, value any) {
		if f.isGiven(flag) {
			knobs = append(knobs, given{"--" + flag, fmt.Sprint(value), fmt.Sprintf("%s=%v", knob, value)})
		}
	}
	add("etcd-members", "members", f.members)
	add("servers", "servers", f.servers)
	add("duration", "duration", f.duration)
	add("operations", "operations", f.operations)
	return knobs
}

// chooseFaults reads --faults: a word, a list of kinds, or a plan file.
func (f *runFlags) chooseFaults(spec *scenario.Spec) error {
	if f.faults == "" {
		return nil
	}
	spec.Plan = ""
	switch f.faults {
	case "all", "every", "none":
		return spec.Set("kinds", f.faults)
	}
	text, err := os.ReadFile(f.faults)
	if err == nil {
		return f.readPlan(spec, string(text))
	}
	kinds := strings.Split(f.faults, ",")
	for _, kind := range kinds {
		wrong := checkName("kind", kind, faultNames())
		_, known := faults.Lookup(kind)
		switch {
		case known:
		case !errors.Is(err, fs.ErrNotExist) || wrong == nil || strings.ContainsAny(f.faults, "/."):
			return fmt.Errorf("--faults: expected all, none, every, kinds of fault (see `simrun kinds`) or a plan file, found %q: %w", f.faults, err)
		default:
			return fmt.Errorf("--faults: %w", wrong)
		}
	}
	return spec.Set("kinds", strings.Join(kinds, "+"))
}

// readPlan reads the text of a plan file. A plan without any fault, even an empty file, means no
// faults.
func (f *runFlags) readPlan(spec *scenario.Spec, text string) error {
	plan, err := faults.Parse(text)
	if err != nil {
		return fmt.Errorf("--faults %s: %w", f.faults, err)
	}
	header := strings.TrimSpace(faults.Plan{}.String())
	if first, _, _ := strings.Cut(text, "\n"); strings.TrimSpace(text) != "" && strings.TrimSpace(first) != header {
		return fmt.Errorf("--faults %s: line 1: expected %q, found %q", f.faults, header, first)
	}
	if len(plan) == 0 {
		return spec.Set("kinds", "none")
	}
	spec.SetPlan(text)
	return nil
}

// maxSeeds is how many seeds one range may have.
const maxSeeds = 1_000_000_000

// seedRange reads --seed or --seeds.
func (f *runFlags) seedRange() (first, last uint64, err error) {
	switch {
	case f.seed != "" && f.seeds != "":
		return 0, 0, fmt.Errorf("expected one of --seed and --seeds, found both")
	case f.seed != "":
		first, err = strconv.ParseUint(f.seed, 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("--seed: expected a whole number from 0 to 2^64-1, found %q", f.seed)
		}
		return first, first, nil
	case f.seeds != "":
		from, to, isRange := strings.Cut(f.seeds, "-")
		first, err = strconv.ParseUint(from, 10, 64)
		if err == nil && isRange {
			last, err = strconv.ParseUint(to, 10, 64)
		}
		if err != nil || !isRange || last < first {
			return 0, 0, fmt.Errorf("--seeds: expected a range of seeds such as 1-2000, its first not above its last, found %q", f.seeds)
		}
		if last-first >= maxSeeds {
			return 0, 0, fmt.Errorf("--seeds: expected at most %d seeds, found %q", uint64(maxSeeds), f.seeds)
		}
		return first, last, nil
	}
	return 0, 0, fmt.Errorf("expected --seed or --seeds, found neither, such as --seed 7 or --seeds 1-200")
}

// config checks all flags, in the order in which users think of them, and says what to run.
func (f *runFlags) config(notes io.Writer) (swarm.Config, error) {
	first, last, err := f.seedRange()
	if err != nil {
		return swarm.Config{}, err
	}
	spec, err := f.spec()
	if err != nil {
		return swarm.Config{}, err
	}
	spec = spec.WithSeed(first)
	if err := spec.Validate(); err != nil {
		return swarm.Config{}, f.ofPlan(err)
	}
	limits := swarm.DefaultLimits().WithWorkers(int(min(uint64(f.workers), last-first+1)))
	binary, err := binaryFor(notes, spec)
	return swarm.Config{
		Binary: binary, Spec: spec, First: first, Last: last,
		Out: f.out, KeepAll: f.keepAll || first == last, InPlace: f.noFork, Verbose: f.verbose, Limits: limits,
	}, err
}

// ofPlan adds the name of the plan file to an error about its content.
func (f *runFlags) ofPlan(err error) error {
	if _, is := errors.AsType[*faults.Misfit](err); is {
		return fmt.Errorf("--faults %s: %w", f.faults, err)
	}
	return err
}

// prepareOut creates the folder for artifacts and tries to write there: better to fail now than
// after the first failing run.
func (f *runFlags) prepareOut() error {
	if err := cmp.Or(os.MkdirAll(f.out, 0o755), tryToWrite(f.out)); err != nil {
		return fmt.Errorf("--out: cannot write to %s: %w", f.out, err)
	}
	return nil
}

// tryToWrite creates a file in a folder, and removes it.
func tryToWrite(folder string) error {
	probe, err := os.CreateTemp(folder, ".simrun-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// recordedRun reads the folder of a run, and returns the binary that can run it again: this one, or
// one with the run's mutant.
func recordedRun(notes io.Writer, folder string) (recorded scenario.Recorded, binary string, err error) {
	if recorded, err = scenario.Load(folder); err != nil {
		return recorded, "", err
	}
	err = checkName("target", recorded.Spec.Target, targetNames())
	for name := range strings.SplitSeq(recorded.Spec.Mutant, ",") {
		if err == nil && name != "" {
			err = checkName("mutant", name, mutantNames())
		}
	}
	if err != nil {
		return recorded, "", fmt.Errorf("%s: %w", folder, err)
	}
	binary, err = binaryFor(notes, recorded.Spec)
	return recorded, binary, err
}

// binaryFor returns the binary that a target's workers are started from: this one, or one with a
// released version, other code or mutants, which it builds first.
func binaryFor(notes io.Writer, spec scenario.Spec) (string, error) {
	mutants, _, err := mutant.FindAll(spec.Mutant)
	if err != nil {
		return "", err
	}
	uses, err := selfbuild.SplitUses(spec.Use)
	if err != nil {
		return "", fmt.Errorf("--use: %w", err)
	}
	what := "simrun"
	if mutants != nil {
		what += " with the mutant " + strings.ReplaceAll(spec.Mutant, ",", " and ")
	}
	if uses != nil {
		what += " with " + strings.ReplaceAll(spec.Use, ",", " and ")
	}
	if release, known := target.FindRelease(spec.Target); known {
		return built(notes, strings.Replace(what, "simrun", release.Summary, 1), func(progress selfbuild.Progress) (string, error) {
			return selfbuild.BuildReleased(progress, release, uses, mutants...)
		})
	}
	if mutants == nil && uses == nil {
		return os.Executable()
	}
	return built(notes, what, func(progress selfbuild.Progress) (string, error) { return selfbuild.Build(progress, uses, mutants...) })
}

// built builds a program, and shows progress if there is anything to compile.
func built(notes io.Writer, what string, build func(selfbuild.Progress) (string, error)) (string, error) {
	status, packages := newStatusLine(notes), 0
	binary, err := build(func(pkg string) {
		if packages++; packages == 1 {
			fmt.Fprintf(notes, "simrun: building %s; that takes up to ten minutes the first time, and seconds afterwards\n", what)
		}
		status.say("%d packages built, the last %s", packages, pkg)
	})
	status.clear()
	return binary, err
}
