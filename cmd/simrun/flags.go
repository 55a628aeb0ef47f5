package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/swarm"
)

// runFlags are what the root command takes.
type runFlags struct {
	seed, seeds              string
	scenario, target, mutant string
	members, servers         int
	duration                 time.Duration
	operations               int
	faults, out              string
	keepAll, json            bool
	workers                  int
	noFork                   bool
	branches                 []string
}

func (f *runFlags) register(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&f.seed, "seed", "", "run this seed")
	flags.StringVar(&f.seeds, "seeds", "", "run a range of seeds, such as 1-2000")
	flags.StringVar(&f.scenario, "scenario", scenario.Catalogue()[0].Name, "the scenario, see `simrun scenarios`")
	flags.StringVar(&f.target, "target", "", "the cacher under test (default: the one that has the mutant, or "+targets[0].name+")")
	flags.StringVar(&f.mutant, "mutant", "", "put this known bug into the code under test, see `simrun mutants`")
	flags.IntVar(&f.members, "etcd-members", 0, "number of etcd members, 1 or 3 (default: the scenario's)")
	flags.IntVar(&f.servers, "servers", 0, "number of API servers (default: the scenario's)")
	flags.DurationVar(&f.duration, "duration", 0, "simulated length of a run (default: the scenario's)")
	flags.IntVar(&f.operations, "operations", 0, "number of reads and writes (default: the scenario's)")
	flags.StringVar(&f.faults, "faults", "", "all, none, every, kinds such as compaction,reset, or the path of a plan file (default: the scenario's)")
	flags.StringArrayVar(&f.branches, "branch", nil, "have the schedule go on by another seed from a time or a decision on, such as 12.5s,seed=3 or decision=812,seed=3, and 12.5s,seed=3,redraw to draw the clients' operations and the faults from there on by it, too; can be repeated")
	flags.StringVar(&f.out, "out", "out", "folder for artefacts")
	flags.BoolVar(&f.keepAll, "keep-all", false, "keep the artefacts of runs that pass, too")
	flags.BoolVar(&f.json, "json", false, "print one JSON object a run on standard output")
	limits := swarm.DefaultLimits()
	flags.IntVar(&f.workers, "workers", limits.Workers, "number of worker processes")
	flags.BoolVar(&f.noFork, "no-fork", false, "boot each run in a process of its own instead of copying one that has booted; the runs are the same")
}

// spec turns the flags into a spec without a seed.
func (f *runFlags) spec() (scenario.Spec, error) {
	spec, err := scenario.Named(f.scenario)
	if err != nil {
		return spec, err
	}
	if spec.Target, err = f.chosenTarget(); err != nil {
		return spec, err
	}
	spec.Mutant = f.mutant
	override(&spec.Members, f.members)
	override(&spec.Servers, f.servers)
	override(&spec.Duration, f.duration)
	override(&spec.Operations, f.operations)
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

// chosenTarget is the cacher asked for, else the one that has the mutant, else
// the default.
func (f *runFlags) chosenTarget() (string, error) {
	owner := ""
	if f.mutant != "" {
		m, err := mutant.Find(f.mutant)
		if err != nil {
			return "", err
		}
		owner = m.Target
	}
	chosen := cmp.Or(f.target, owner, targets[0].name)
	if err := checkTarget(chosen); err != nil {
		return "", err
	}
	if owner != "" && chosen != owner {
		return "", fmt.Errorf("--target: expected %s, which has the mutant %s, found %s; leave the flag out", owner, f.mutant, chosen)
	}
	return chosen, nil
}

func override[T int | time.Duration](field *T, value T) {
	if value != 0 {
		*field = value
	}
}

// chooseFaults reads --faults: a word, a list of kinds, or a plan file.
func (f *runFlags) chooseFaults(spec *scenario.Spec) error {
	if f.faults == "" {
		return nil
	}
	spec.Plan = ""
	switch f.faults {
	case "all":
		spec.Kinds, spec.Every = nil, false
		return nil
	case "every":
		spec.Kinds, spec.Every = nil, true
		return nil
	case "none":
		spec.Kinds, spec.Every = []string{}, false
		return nil
	}
	kinds := strings.Split(f.faults, ",")
	for _, kind := range kinds {
		if _, known := faults.Lookup(kind); !known {
			return f.readPlan(spec)
		}
	}
	spec.Kinds, spec.Every = kinds, true
	return nil
}

func (f *runFlags) readPlan(spec *scenario.Spec) error {
	text, err := os.ReadFile(f.faults)
	if err != nil {
		return fmt.Errorf("--faults: expected all, none, every, kinds of fault (see `simrun kinds`) or a plan file, found %q: %w", f.faults, err)
	}
	if _, err := faults.Parse(string(text)); err != nil {
		return fmt.Errorf("--faults %s: %w", f.faults, err)
	}
	spec.Plan = string(text)
	return nil
}

// seedsMost is how many seeds one range may have.
const seedsMost = 1_000_000_000

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
		if last-first >= seedsMost {
			return 0, 0, fmt.Errorf("--seeds: expected at most %d seeds, found %q", uint64(seedsMost), f.seeds)
		}
		return first, last, nil
	}
	return 0, 0, fmt.Errorf("expected --seed or --seeds, found neither; try `simrun --seed 7` or `simrun --help`")
}

// config checks all flags, in the order in which a user would, and says what
// to run.
func (f *runFlags) config() (swarm.Config, error) {
	first, last, err := f.seedRange()
	if err != nil {
		return swarm.Config{}, err
	}
	spec, err := f.spec()
	if err != nil {
		return swarm.Config{}, err
	}
	spec.Seed = first
	if err := spec.Validate(); err != nil {
		return swarm.Config{}, f.ofPlan(err)
	}
	limits, err := f.limits()
	if err != nil {
		return swarm.Config{}, err
	}
	limits.Workers = int(min(uint64(limits.Workers), last-first+1))
	binary, err := binaryFor(spec.Target, f.mutant)
	return swarm.Config{
		Binary: binary, Spec: spec, First: first, Last: last,
		Out: f.out, KeepAll: f.keepAll || first == last, InPlace: f.noFork, Limits: limits,
	}, err
}

// ofPlan names the plan file in an error about what it says.
func (f *runFlags) ofPlan(err error) error {
	var misfit *faults.Misfit
	if errors.As(err, &misfit) {
		return fmt.Errorf("--faults %s: %w", f.faults, err)
	}
	return err
}

// prepareOut makes the folder for artefacts and tries to write there, which is
// better found out now than after the first failure.
func (f *runFlags) prepareOut() error {
	err := os.MkdirAll(f.out, 0o755)
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(f.out, ".simrun-*"); err == nil {
			probe.Close()
			err = os.Remove(probe.Name())
		}
	}
	if err != nil {
		return fmt.Errorf("--out: cannot write to %s: %w", f.out, err)
	}
	return nil
}

// limits are the workers'.
func (f *runFlags) limits() (swarm.Limits, error) {
	limits := swarm.DefaultLimits()
	if f.workers < 1 {
		return limits, fmt.Errorf("expected at least 1 worker, found --workers %d", f.workers)
	}
	limits.Workers = f.workers
	return limits, nil
}

// one says that a command takes one argument, and what that is.
func one(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, arguments []string) error {
		if len(arguments) != 1 {
			return fmt.Errorf("expected %s, found %d arguments", what, len(arguments))
		}
		return nil
	}
}

// recordedRun reads the folder of a run, and returns the command that can run it
// again: this one, or one with the run's mutant.
func recordedRun(folder string) (recorded scenario.Recorded, binary string, err error) {
	if recorded, err = scenario.Load(folder); err != nil {
		return recorded, "", err
	}
	if err := checkTarget(recorded.Spec.Target); err != nil {
		return recorded, "", fmt.Errorf("%s: %w", folder, err)
	}
	binary, err = binaryFor(recorded.Spec.Target, recorded.Spec.Mutant)
	return recorded, binary, err
}
