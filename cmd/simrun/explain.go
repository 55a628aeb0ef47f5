package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/search/decisive"
	"github.com/watchsim/watchsim/search/shrink"
	"github.com/watchsim/watchsim/search/swarm"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/traces/judge"
)

// codeUnderTest is where an explanation says what goroutines did, the caches first.
var codeUnderTest = []string{
	"k8s.io/apiserver/pkg/storage/cacher", "github.com/watchsim/watchsim/cacher",
	"k8s.io/apiserver/pkg/storage/etcd3", "k8s.io/client-go/tools/cache", "go.etcd.io/etcd/client/v3", "go.etcd.io/etcd/server/v3/storage/mvcc",
}

// caches is how many of them are caches.
const caches = 2

// explainFlags are what explain takes.
type explainFlags struct {
	budget  time.Duration
	workers int
	json    bool
}

// explainCommand says why a history is illegal and what led to it.
func explainCommand() *cobra.Command {
	var flags explainFlags
	command := &cobra.Command{
		Use:   "explain FOLDER|HISTORY",
		Short: "say why a guarantee is broken, and what led to it, step by step",
		Long: "explain judges the folder of a run, or a recorded history whoever recorded it, and says of each violation\n" +
			"what was owed and what came, and what led to it: the requests, changes, events and faults, as a list and\n" +
			"as a timeline of text.\n\n" +
			"Of a run it also says which decisions of the scheduler matter. It runs the failure again for each of\n" +
			"them, with the plain choice in its place, and keeps those without which the guarantee holds; then it\n" +
			"says where the goroutine was and what others did meanwhile. That needs a run with few decisions: one\n" +
			"that `simrun shrink` has not made smaller is made so first, in FOLDER-shrunk.\n\n" +
			"Exit codes: 0 nothing is broken, 1 a guarantee is, 2 bad usage or input, 3 inconclusive.",
		Args: one("the folder of a run or a history"),
		RunE: func(command *cobra.Command, arguments []string) error { return flags.explain(command, arguments[0]) },
	}
	limits := swarm.DefaultLimits()
	command.Flags().DurationVar(&flags.budget, "budget", 45*time.Second, "real time for making the run smaller, and again for trying its decisions; 0 leaves decisions out")
	command.Flags().IntVar(&flags.workers, "workers", limits.Workers, "number of worker processes")
	command.Flags().BoolVar(&flags.json, "json", false, "print what is known of the history as one JSON object on standard output")
	return command
}

// explainsRuns is whether an argument is the folder of a run, which takes a
// simulation to explain.
func explainsRuns(arguments []string) bool {
	return slices.ContainsFunc(arguments, scenario.HasRun)
}

func (f *explainFlags) explain(command *cobra.Command, path string) error {
	switch {
	case f.workers < 1:
		return fmt.Errorf("--workers: expected at least 1, found %d", f.workers)
	case f.budget < 0:
		return fmt.Errorf("--budget: expected a time of at least zero, found %v", f.budget)
	}
	config := scenario.OracleConfig()
	config.Minimum = linearizability.Counts{}
	verdict := judge.File(path, command.InOrStdin(), config)
	if verdict.Error != "" {
		return errors.New(verdict.Error)
	}
	out := command.OutOrStdout()
	if f.json {
		if err := json.NewEncoder(out).Encode(verdict); err != nil {
			return err
		}
	} else {
		fmt.Fprint(out, verdict.Explanation())
	}
	if verdict.Outcome == linearizability.Failed && scenario.HasRun(path) && f.budget > 0 && !f.json {
		fmt.Fprintln(out)
		if err := f.decisions(command, path, verdict.Violations[0].Guarantee); err != nil {
			return err
		}
	}
	return map[judge.Standing]error{
		judge.Doubtful: exit(exitInconclusive), judge.Broken: exit(exitFailed),
	}[verdict.Standing()]
}

// decisions says which decisions a failing run needs.
func (f *explainFlags) decisions(command *cobra.Command, folder, guarantee string) error {
	out := command.OutOrStdout()
	say := func(format string, arguments ...any) {
		fmt.Fprintln(out, explain.Wrap(2, fmt.Sprintf(format, arguments...)))
	}
	recorded, binary, err := recordedRun(folder)
	if err != nil {
		return err
	}
	if recorded.Spec.Reduced == nil {
		smaller := filepath.Clean(folder) + "-shrunk"
		if recorded, err = f.smaller(command, binary, recorded, smaller, guarantee); err != nil {
			if errors.Is(err, shrink.ErrNotBroken) {
				say("The run does not break %s when it is run again, so that its decisions cannot be told apart: is the code or the toolchain another one than when it was recorded?", guarantee)
				return exit(exitInconclusive)
			}
			return err
		}
		if recorded.Spec.Reduced == nil {
			say("The run could not be made smaller within %v, and in a whole run any change makes everything after it another run: which of its decisions matter is not known. A longer --budget may help.", f.budget)
			return nil
		}
		say("The decisions are those of a smaller run that breaks %s, in %s; `simrun explain` on it tells its steps.", recorded.Spec.Reduced.Guarantee, shown(smaller))
		folder = smaller
	}
	guarantee = cmp.Or(recorded.Spec.Reduced.Guarantee, guarantee)
	explained, err := f.decisive(command, binary, recorded, folder, guarantee)
	if err != nil {
		return err
	}
	content, err := json.MarshalIndent(explained, "", "  ")
	if err != nil {
		return err
	}
	if err := scenario.WriteDecisive(folder, append(content, '\n')); err != nil {
		return err
	}
	fmt.Fprintln(out)
	fmt.Fprint(out, explained.Text())
	return nil
}

// decisive finds the decisions that the run in a folder needs. The run is made again
// without any choice after the last of them, and takes the folder's place.
func (f *explainFlags) decisive(command *cobra.Command, binary string, recorded scenario.Recorded, folder, guarantee string) (decisive.Explained, error) {
	explained := decisive.Explained{Guarantee: guarantee, Began: recorded.Began}
	decisions, err := scenario.Decisions(folder)
	if err != nil {
		return explained, err
	}
	limits := swarm.DefaultLimits()
	limits.Workers = f.workers
	pool := swarm.NewPool(binary, limits)
	defer pool.Close()
	shows, _ := moments(folder, guarantee)
	config := decisive.Config{
		Try: shrink.Runner(pool, guarantee, ""), Workers: f.workers, Budget: f.budget,
		Shows: lastBefore(decisions, recorded.Began+shows),
		IsLength: func(number uint64) bool {
			return number <= uint64(len(decisions)) && decisions[number-1].Kind == sim.KindLength
		},
	}
	found, calmer, err := decisive.Find(command.Context(), config, shrink.Case{Spec: recorded.Spec, Tape: recorded.Tape})
	explained.Found = found
	if err != nil || found.Last == 0 {
		return explained, err
	}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return explained, err
	}
	if _, err := write(command.Context(), binary, calmer, guarantee, absolute); err != nil {
		return explained, err
	}
	if _, asked := moments(folder, guarantee); asked > 0 {
		explained.Asked = recorded.Began + asked
	}
	explained.Turns, err = f.turns(command, binary, calmer, found, explained.Asked)
	return explained, err
}

// moments are when the guarantee is seen to be broken in the run of a folder, and when
// what was asked for came in which it is, both on the history's clock. They are 0 where
// that is not known.
func moments(folder, guarantee string) (shows, asked time.Duration) {
	config := scenario.OracleConfig()
	config.Minimum = linearizability.Counts{}
	for _, violation := range judge.File(folder, nil, config).Violations {
		if violation.Guarantee != guarantee {
			continue
		}
		i := slices.IndexFunc(violation.Slice, func(m explain.Moment) bool { return m.Mark == explain.Came })
		if i < 0 {
			continue
		}
		came := violation.Slice[i]
		for _, moment := range violation.Slice {
			if moment.Process == came.Process && moment.Stream == came.Stream {
				return time.Duration(came.Time), time.Duration(moment.Time)
			}
		}
	}
	return 0, 0
}

// lastBefore is the number of the last decision up to a time on the world's clock.
func lastBefore(decisions []sim.Decision, at time.Duration) uint64 {
	n := sort.Search(len(decisions), func(i int) bool { return decisions[i].At > at })
	return uint64(n)
}

// smaller makes a run smaller, unless that was done before.
func (f *explainFlags) smaller(command *cobra.Command, binary string, whole scenario.Recorded, out, guarantee string) (scenario.Recorded, error) {
	if scenario.HasRun(out) {
		before, err := scenario.Load(out)
		if err == nil && before.Spec.Reduced != nil && before.Spec.Seed == whole.Spec.Seed && before.Spec.Mutant == whole.Spec.Mutant {
			return before, nil
		}
	}
	shrinking := shrinkFlags{guarantee: guarantee, budget: f.budget, workers: f.workers}
	result, _, err := shrinking.search(command, binary, shrink.Case{Spec: whole.Spec, Tape: whole.Tape})
	if err != nil {
		return scenario.Recorded{}, err
	}
	if result.Case.Spec.Reduced == nil {
		return whole, nil
	}
	absolute, err := filepath.Abs(out)
	if err != nil {
		return scenario.Recorded{}, err
	}
	if _, err := write(command.Context(), binary, result.Case, guarantee, absolute); err != nil {
		return scenario.Recorded{}, err
	}
	return scenario.Load(out)
}

// pointsMost bounds how much of a run is looked at.
const pointsMost = 4 << 20

// turns runs a failure once more and says what its decisions did.
func (f *explainFlags) turns(command *cobra.Command, binary string, run shrink.Case, found decisive.Found, asked time.Duration) (turns []decisive.Turn, err error) {
	dir, err := os.MkdirTemp("", "watchsim-explain-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	job := swarm.Job{
		Spec: run.Spec, Tape: run.Tape, Details: true,
		Folder: filepath.Join(dir, "run"), Trace: filepath.Join(dir, "trace.gz"),
	}
	answer, err := swarm.Once(command.Context(), binary, job, swarm.DefaultLimits())
	if err != nil {
		return nil, err
	}
	decisions, err := scenario.Decisions(job.Folder)
	if err != nil {
		return nil, err
	}
	points, err := swarm.ReadPoints(job.Trace, pointsMost)
	if err != nil {
		return nil, err
	}
	return decisive.Story{
		Found: found, Decisions: decisions, Points: points, Schedule: answer.Details.Schedule, Under: codeUnderTest, Cache: caches, Asked: asked,
	}.Turns(), nil
}
