package simtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/fork"
	"github.com/watchsim/watchsim/sim/isolate"
)

// workerVariable is the environment variable that names the test that a process works for. A worker
// reads jobs from its standard input and writes reports to a pipe.
const workerVariable = "WATCHSIM_SIMTEST_WORKER"

// reportPipe is the file descriptor of that pipe.
const reportPipe = 3

// limits are those of the run of one seed.
var limits = fork.Limits{Processor: 2 * time.Minute, Clock: 10 * time.Minute, Memory: fork.DefaultLimits.Memory}

// job is the run of one seed.
type job struct {
	Seed uint64
	// Plan replaces the faults that the seed draws if HasPlan is set.
	Plan    string
	HasPlan bool
	// Kept is the file of a kept failure, "" for a seed with faults of its own.
	Kept string
	// Kinds are the kinds of faults to draw from; nil for all.
	Kinds []string
	// Drawn are the words to draw values from, by name, where they differ from the seed's.
	Drawn map[string][]uint64 `json:",omitempty"`
	// Value is the argument for the function of [Property].
	Value json.RawMessage `json:",omitempty"`
}

// report is the result of a run.
type report struct {
	Seed            uint64
	Kept            string          // that of the job
	Value           json.RawMessage `json:",omitempty"` // that of the job
	Log             []string
	Failed, Skipped bool
	// Stop says why a run that did not complete ended, and Cause what ended its process, empty if the process left a report.
	Stop  string
	Cause fork.Cause `json:",omitempty"`
	// PlainLists means that client-go's WatchListClient was off.
	PlainLists bool
	// Plan are the faults, Hash identifies the run.
	Plan      string
	Faults    int
	Hash      uint64
	Simulated time.Duration
	Began     time.Duration // from the boot to the run: subtract it from times in histories
	Injected  time.Duration // from the run's beginning to Faults or Inject: add it to times in Plan
	Processor time.Duration
	Reached   map[string]int
	// Drawn are the words from which the values of a failed run were drawn.
	Drawn map[string][]uint64 `json:",omitempty"`
	// Violations are the guarantees of the API that the servers broke.
	Violations []violation
	// Unjudged says what the oracle was not given, and why.
	Unjudged []unjudged
	// Histories are those of a failed run, by resource, as docs/history-format.md has them.
	Histories map[string]string
	// Requests are those of the programs, one line each.
	Requests []string
	// Output is what Kubernetes' libraries logged in a failed run.
	Output string
	// Stacks are those of all goroutines of a run that did not complete.
	Stacks string
	// Broken says why the cluster did not boot, which is not the test's fault.
	Broken string
}

// unjudged is a part of a resource's recording that the oracle was not given.
type unjudged struct{ Resource, Why string }

// violation is a guarantee that was broken, and for which resource.
type violation struct {
	Resource  string `json:"resource"`
	Guarantee string `json:"guarantee"`
	Text      string `json:"text"`
}

// signature distinguishes failures with different causes.
func (r report) signature() string {
	text := r.Stop
	for _, one := range r.Violations {
		text += " " + one.Guarantee
	}
	if len(r.Log) > 0 && r.Failed {
		place, _, _ := strings.Cut(r.Log[len(r.Log)-1], ": ")
		text += " " + place
	}
	return text
}

// work is the main function of a worker: it boots the cluster, and runs each job in a copy of
// itself. It does not return.
func work(t *testing.T, config Config, body func(*T, *Cluster)) {
	settle()
	out := os.NewFile(reportPipe, "reports")
	w := &worker{lines: bufio.NewScanner(os.Stdin), out: out}
	w.lines.Buffer(nil, 64<<20)
	if !isolate.Raced { // a raced process cannot be copied
		if err := fork.OwnProgram(); err != nil {
			w.give(report{Broken: err.Error()})
			os.Exit(1)
		}
	}
	r := &run{config: config, t: t, body: body, begin: w.begin, drawn: newDrawn(nil)}
	result, err := sim.Run(bootWorld(), r.live)
	switch {
	case errors.Is(r.failed, io.EOF):
		os.Exit(0)
	case err != nil:
		r.report.Broken = err.Error()
	case r.failed != nil:
		r.report.Broken = r.failed.Error()
	case w.copy == nil && !w.alone:
		r.report.Broken = fmt.Sprintf("the cluster did not boot: %s\n%s", result.Stop, result.Stacks)
	default:
		r.finish(result)
	}
	w.give(r.report)
	os.Exit(0)
}

// settle makes every process that simulates begin in the same state.
func settle() {
	debug.SetGCPercent(-1)
	runtime.MemProfileRate = 0
	// client-go sends the name of the binary to API servers, and its length affects the time on the network.
	os.Args[0] = "watch.sim"
	_, _ = json.Marshal(report{}) // fills the cache of encoding/json
	_ = json.Unmarshal([]byte(`{}`), &job{})
}

// worker does one job after another.
type worker struct {
	lines *bufio.Scanner
	out   io.Writer
	copy  *fork.Copy // this process, if it is a copy
	alone bool       // this process runs a job itself
}

// begin is called when the cluster has booted. It returns a job in a copy of the worker, and io.EOF
// in the worker itself once there are no more jobs.
func (w *worker) begin() (job, error) {
	for w.lines.Scan() {
		if isolate.Raced { // the detector has threads of its own, which a copy would lack
			w.alone = true
			return decode(w.lines.Bytes())
		}
		made, err := fork.Now(limits)
		if err != nil {
			return job{}, err
		}
		if made.Inside() {
			w.copy = made
			next, err := decode(w.lines.Bytes())
			return next, errors.Join(err, made.Limit())
		}
		line, err := made.Answer(nil, w.explain)
		if err == nil {
			_, err = w.out.Write(line)
		}
		if err != nil {
			return job{}, err
		}
	}
	return job{}, io.EOF
}

// explain writes, from another copy, the report for a copy that left none.
func (w *worker) explain(another *fork.Copy, ended fork.Ended) {
	w.copy = another
	next, _ := decode(w.lines.Bytes())
	w.give(endedAs(ended, next))
}

func decode(line []byte) (next job, err error) {
	err = json.Unmarshal(line, &next)
	return next, err
}

// endedAs is the report of a job whose process left none.
func endedAs(ended fork.Ended, of job) report {
	return report{Seed: of.Seed, Kept: of.Kept, Value: of.Value, Failed: true, Stop: ended.Why(), Cause: ended.Cause(), Log: []string{string(ended.Output)}, Plan: of.Plan, Processor: ended.Processor}
}

// give writes a report. A copy does nothing after it.
func (w *worker) give(r report) {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	line = append(line, '\n')
	if w.copy != nil {
		w.copy.Leave(line)
	}
	_, _ = w.out.Write(line)
}
