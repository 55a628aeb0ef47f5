package swarm

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/cluster/workload"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/search/explore"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/fork"
)

// Job is one run to be done by a worker.
type Job struct {
	// Protocol is the coordinator's; see [ErrProtocol].
	Protocol string `json:"protocol"`

	Spec scenario.Spec `json:"spec"`
	// Environment is a variable for the worker's environment, such as NAME=value; empty for none.
	Environment string `json:"-"`
	// Folder is where the artifacts go, an absolute path; empty for none.
	Folder string `json:"folder,omitempty"`
	// Tape is followed instead of the seed's schedule, unless it is empty.
	Tape []byte `json:"tape,omitempty"`
	// Trace is the file for the trace, an absolute path; empty for none.
	Trace string `json:"trace,omitempty"`
	// Until and BreakAt end the run early, as in scenario.Options; Stop then calls sim.Here. Its
	// verdict is meaningless.
	Until   time.Duration `json:"until,omitempty"`
	BreakAt uint64        `json:"breakAt,omitempty"`
	Stop    bool          `json:"stop,omitempty"`
	// Log is the file for what is logged, an absolute path; empty for none.
	Log string `json:"log,omitempty"`
	// Verbose asks for a report with everything that is known of the run.
	Verbose bool `json:"verbose,omitempty"`
	// Choices asks for every decision of an exploring run.
	Choices bool `json:"choices,omitempty"`
	// Details asks for the input for shrinking.
	Details bool `json:"details,omitempty"`
	// Forks make copies of the run continue differently from some places on, in order, which are
	// after the branches of its spec.
	Forks []Fork `json:"forks,omitempty"`
	// OnlyForks ends the run itself at the last of them, without a verdict.
	OnlyForks bool `json:"onlyForks,omitempty"`
	// Looks is the interval between looks at the run, after its last branch or fork; 0 for none.
	Looks time.Duration `json:"looks,omitempty"`
	// NewEnds ends an exploring run with its window, and without a verdict, if an earlier run of
	// the worker had an equivalent end. See [Explored].
	NewEnds bool `json:"newEnds,omitempty"`
	// InPlace makes the run continue in the worker itself instead of in a copy, for debuggers, the
	// race detector, and logs. The worker does nothing else afterwards.
	InPlace bool `json:"inPlace,omitempty"`
	// Session has the run visited at one place after another; see [Visiting].
	Session bool `json:"session,omitempty"`
	// TapeFile is the worker's descriptor of memory for a tape, 0 for none.
	TapeFile int `json:"tapeFile,omitempty"`
	// Limits are those of the copy.
	Limits fork.Limits `json:"limits"`
}

// Sealed returns a job for a worker that is started by hand, which runs it in place.
func Sealed(job Job) Job {
	job.Protocol, job.InPlace = protocol, true
	return job
}

// Fork is a place in a run from which copies of it continue.
type Fork struct {
	At sim.Mark `json:"at"`
	// Ways are how: one copy for each.
	Ways []Way `json:"ways"`
}

// Way says how a copy of a run continues: by a tape of its own, or by a branch.
type Way struct {
	// Tape is an open tape of the whole run: up to the fork it is the run's own.
	Tape []byte `json:"tape,omitempty"`
	// Branch says how, if there is no tape; its place is the fork.
	Branch scenario.Branch `json:"branch,omitzero"`
	// Whole makes the copy run to its end and be judged, whatever NewEnds says.
	Whole bool `json:"whole,omitempty"`
}

// maxRecords bounds the trace that the decisions of a run's folder are taken from:
// 256 MiB, which is given back when they are written.
const maxRecords = 2 << 20

// traceRecords returns how many trace records the job needs, 0 for all.
func (j Job) traceRecords() int {
	if j.Trace != "" || j.Details {
		return 0
	}
	return maxRecords
}

// Answer is a worker's answer to a job.
type Answer struct {
	Verdict scenario.Verdict `json:"verdict"`
	// Report is the verdict for people.
	Report string `json:"report"`
	// Diverged means that the tape did not fit the run.
	Diverged bool `json:"diverged,omitempty"`
	// Error is why there is no verdict.
	Error string `json:"error,omitempty"`
	// Notes say what failed and was retried, a sentence each.
	Notes []string `json:"-"`
	// Began is the origin of the history's clock, on the world's clock.
	Began time.Duration `json:"began,omitempty"`
	// Processor is the processor time of the run, and Memory its largest memory, in bytes.
	Processor time.Duration `json:"processor,omitempty"`
	Memory    int64         `json:"memory,omitempty"`
	// Details are set if the job requested them.
	Details *Details `json:"details,omitempty"`
	// Explored is set if the run was exploring.
	Explored *Explored `json:"explored,omitempty"`
	// Looks are those that the job requested.
	Looks []explore.Look `json:"looks,omitempty"`
	// Forks are the answers of the copies, by fork and way.
	Forks [][]Reply `json:"forks,omitempty"`
}

// Reply is the result of a copy: its answer, or why there is none.
type Reply struct {
	Answer    json.RawMessage `json:"answer,omitempty"`
	Died      string          `json:"died,omitempty"`
	Cause     fork.Cause      `json:"cause,omitempty"`
	Processor time.Duration   `json:"processor"`
	Memory    int64           `json:"memory"`
}

// Read returns the answer. The error is ErrDied if the run ended its process, and
// ErrOutside if something else did.
func (r Reply) Read(seed uint64) (Answer, error) {
	answer := Answer{Processor: r.Processor, Memory: r.Memory}
	switch {
	case r.Cause.Outside():
		return answer, died(ErrOutside, seed, r.Cause, r.Died)
	case r.Cause == fork.TookTooLong:
		return answer, died(errLate, seed, r.Cause, r.Died)
	case r.Died != "":
		return answer, died(ErrDied, seed, r.Cause, r.Died)
	}
	err := json.Unmarshal(r.Answer, &answer)
	answer.Processor, answer.Memory = r.Processor, r.Memory
	if err == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	return answer, err
}

// Details are the input for shrinking.
type Details struct {
	// Plan is the text of the plan, Parts the steps that the clients took, and Tape
	// the decisions.
	Plan  string          `json:"plan"`
	Parts []workload.Part `json:"parts"`
	Tape  []byte          `json:"tape"`
	// Forced is how the schedule deviated from taking turns.
	Forced sim.Forced `json:"forced"`
	// Schedule is the configuration that it was drawn with.
	Schedule sim.Schedule `json:"schedule"`
}

// Faults is how many faults the plan has.
func (d *Details) Faults() int {
	plan, _ := faults.Parse(d.Plan) // it was printed by a plan
	return len(plan)
}
