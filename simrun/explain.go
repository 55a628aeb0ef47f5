package simrun

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// codeUnderTest are the packages in which an explanation shows what goroutines did, caches first.
var codeUnderTest = []string{
	"k8s.io/apiserver/pkg/storage/cacher", "github.com/watchsim/watchsim/cacher",
	"k8s.io/apiserver/pkg/storage/etcd3", "k8s.io/client-go/tools/cache", "go.etcd.io/etcd/client/v3", "go.etcd.io/etcd/server/v3/storage/mvcc",
}

// caches is how many of those are caches.
const caches = 2

// explainFlags are the flags of `simrun explain`.
type explainFlags struct {
	budget  time.Duration
	workers int
	json    bool
	out     string
}

// explainCommand explains why a history is illegal.
func explainCommand() *cobra.Command {
	var flags explainFlags
	command := &cobra.Command{
		Use:   "explain FOLDER|HISTORY",
		Short: "say why a guarantee is broken, and what led to it, step by step",
		Long: "explain checks the folder of a run, or a recorded history whoever recorded it, and says for each violation\n" +
			"what was expected, what was seen, and what led to it: the requests, changes, events and faults, as a list and\n" +
			"as a timeline of text.\n\n" +
			"Of a run it also says which decisions of the scheduler matter. It runs the failure again for each of\n" +
			"them, with the default one in its place, and keeps those without which the guarantee holds; then it\n" +
			"says where the goroutine was and what others did meanwhile. That needs a run with few decisions, so\n" +
			"it shrinks the run first, unless `simrun shrink` has done so. It keeps nothing of that without --out.\n\n" +
			"Of a run of the targets http and controlplane it explains the histories of the failure that was kept,\n" +
			"and whatever else failed.\n\n" +
			"Exit codes: 0 nothing is broken, 1 a guarantee is, 2 bad usage or input, 3 inconclusive.",
		Example: "  simrun explain out/cacher-minute-7\n" +
			"  simrun explain --budget 3m -o small out/cacher-minute-7\n" +
			"  simrun explain audit.jsonl.zst",
		Args: expecting(1, "the folder of a run or a history"),
		RunE: func(command *cobra.Command, arguments []string) error { return flags.explain(command, arguments[0]) },
	}
	command.Flags().DurationVar(&flags.budget, "budget", 45*time.Second, "real time for making the run smaller, and again for trying its decisions; 0 leaves decisions out")
	registerWorkers(command, &flags.workers)
	command.Flags().StringVarP(&flags.out, "out", "o", "", "keep the smaller run in this `folder`, with decisive.json (default: nothing is kept)")
	command.Flags().BoolVar(&flags.json, "json", false, "print what is known of the history as one JSON object on standard output")
	return command
}

func (f *explainFlags) explain(command *cobra.Command, path string) error {
	if f.budget < 0 {
		return fmt.Errorf("--budget: expected a time of at least zero, found %v", f.budget)
	}
	if r, is, err := readTested(path); is {
		if err != nil {
			return err
		}
		return f.explainTested(command, path, r)
	}
	verdict := judged(path, command.InOrStdin())
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
	return outcomeExit(verdict.Outcome)
}

// judged is the verdict on the history at a path, however little it holds.
func judged(path string, stdin io.Reader) judge.Verdict {
	config := scenario.OracleConfig()
	config.Minimum = linearizability.Counts{}
	return judge.File(path, stdin, config)
}

// decisions prints which decisions a failing run needs. Its intermediate runs go to a temporary
// folder; --out keeps the smaller run.
func (f *explainFlags) decisions(command *cobra.Command, folder, guarantee string) error {
	out := command.OutOrStdout()
	recorded, binary, err := recordedRun(command.ErrOrStderr(), folder)
	if err != nil {
		return err
	}
	temporary, err := newScratch("explain")
	if err != nil {
		return err
	}
	defer temporary.remove()
	if recorded.Spec.Reduced == nil {
		whole := recorded
		if recorded, folder, err = f.smaller(command, binary, whole, folder, guarantee, temporary.path); errors.Is(err, shrink.ErrNotBroken) {
			say(out, "The run does not break %s when it is run again, so that its decisions cannot be told apart: is the code or the toolchain another one than when it was recorded?", guarantee)
			return exit(exitInconclusive)
		}
		if err != nil {
			return err
		}
		if recorded.Spec.Reduced == nil {
			say(out, "The run could not be made smaller within %v, and in a whole run any change makes everything after it another run: which of its decisions matter is not known. A longer --budget may help.", f.budget)
			return nil
		}
		say(out, "The decisions are those of a smaller run that breaks %s; --out keeps it.", recorded.Spec.Reduced.Guarantee)
	}
	guarantee = cmp.Or(recorded.Spec.Reduced.Guarantee, guarantee)
	explained, calmer, err := f.decisive(command, binary, recorded, folder, guarantee, filepath.Join(temporary.path, "calmer"))
	if err != nil {
		return err
	}
	fmt.Fprintln(out)
	fmt.Fprint(out, explained.Text())
	if f.out == "" {
		return nil
	}
	kept, err := write(command.Context(), binary, calmer, guarantee, f.out, false)
	if err != nil {
		return err
	}
	content, err := json.MarshalIndent(explained, "", "  ")
	if err != nil {
		return err
	}
	say(out, "The smaller run is in %s.", shown(kept.Verdict.Folder))
	return scenario.WriteDecisive(kept.Verdict.Folder, append(content, '\n'))
}

// decisive finds the decisions that the run in a folder needs, and returns the same run with only
// default decisions after the last of them.
func (f *explainFlags) decisive(command *cobra.Command, binary string, recorded scenario.Recorded, folder, guarantee, calmFolder string) (decisive.Explained, shrink.Case, error) {
	explained := decisive.Explained{Guarantee: guarantee, Began: recorded.Began}
	run := shrink.Case{Spec: recorded.Spec, Tape: recorded.Tape}
	decisions, err := scenario.Decisions(folder)
	if err != nil {
		return explained, run, err
	}
	pool := swarm.NewPool(binary, swarm.DefaultLimits().WithWorkers(f.workers))
	defer pool.Close()
	shows, _ := moments(folder, guarantee)
	lastBefore := sort.Search(len(decisions), func(i int) bool { return decisions[i].At > recorded.Began+shows })
	found, calmer, err := decisive.Find(command.Context(), decisive.Config{
		Try: shrink.Runner(pool, guarantee, ""), Workers: f.workers, Budget: f.budget,
		Shows: uint64(lastBefore),
		IsLength: func(number uint64) bool {
			return number <= uint64(len(decisions)) && decisions[number-1].Kind == sim.KindLength
		},
	}, run)
	explained.Found = found
	if err != nil || found.Last == 0 {
		return explained, run, err
	}
	// The calmer run is run once more, to record everything that happens in it.
	job := swarm.Job{Spec: calmer.Spec, Tape: calmer.Tape, Details: true, Folder: calmFolder, Trace: calmFolder + "-trace.gz"}
	answer, err := swarm.Once(command.Context(), binary, job, swarm.DefaultLimits())
	if err == nil && !shrink.Breaks(answer.Verdict, guarantee) {
		err = fmt.Errorf("%w: a calmer run broke %s, but not in a fresh process", swarm.ErrNotDeterministic, guarantee)
	}
	if err != nil {
		return explained, calmer, err
	}
	if _, asked := moments(calmFolder, guarantee); asked > 0 {
		explained.Asked = recorded.Began + asked
	}
	if decisions, err = scenario.Decisions(calmFolder); err != nil {
		return explained, calmer, err
	}
	points, err := swarm.ReadPoints(job.Trace, maxPoints)
	explained.Turns = decisive.Story{
		Found: found, Decisions: decisions, Points: points, Schedule: answer.Details.Schedule, Under: codeUnderTest, Cache: caches, Asked: explained.Asked,
	}.Turns()
	return explained, calmer, err
}

// maxPoints bounds how much of a run is searched.
const maxPoints = 4 << 20

// moments returns when the violation shows in the run of a folder, and when the request came in
// whose answer it is, both on the history's clock. They are 0 if that is not known.
func moments(folder, guarantee string) (shows, asked time.Duration) {
	for _, violation := range judged(folder, nil).Violations {
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

// smaller shrinks a run in a temporary folder, unless `simrun shrink` has already done so, and
// returns the smaller run and its folder.
func (f *explainFlags) smaller(command *cobra.Command, binary string, whole scenario.Recorded, folder, guarantee, temporary string) (scenario.Recorded, string, error) {
	shrunk := filepath.Clean(folder) + "-shrunk"
	if before, err := scenario.Load(shrunk); err == nil && before.Spec.Reduced != nil && before.Spec.Seed == whole.Spec.Seed && before.Spec.Mutant == whole.Spec.Mutant && before.Spec.Use == whole.Spec.Use {
		return before, shrunk, nil
	}
	shrinking := shrinkFlags{guarantee: guarantee, budget: f.budget, workers: f.workers}
	result, _, err := shrinking.search(command, binary, shrink.Case{Spec: whole.Spec, Tape: whole.Tape})
	if err != nil || result.Case.Spec.Reduced == nil {
		return whole, folder, err
	}
	folder = filepath.Join(temporary, "shrunk")
	if _, err := write(command.Context(), binary, result.Case, guarantee, folder, false); err != nil {
		return whole, folder, err
	}
	recorded, err := scenario.Load(folder)
	return recorded, folder, err
}
