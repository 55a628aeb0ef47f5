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
	// Environment is a variable that its worker is started with, such as NAME=value; empty
	// for none.
	Environment string `json:"-"`
	// Folder is where the artifacts go, an absolute path; empty for none.
	Folder string `json:"folder,omitempty"`
	// Tape is followed instead of the seed's schedule, if it is not empty.
	Tape []byte `json:"tape,omitempty"`
	// Trace is the file for the trace, an absolute path; empty for none.
	Trace string `json:"trace,omitempty"`
	// Until and BreakAt end the run early, as those of scenario.Options do; Stop calls
	// sim.Here then. It has no verdict worth having.
	Until   time.Duration `json:"until,omitempty"`
	BreakAt uint64        `json:"breakAt,omitempty"`
	Stop    bool          `json:"stop,omitempty"`
	// Log is the file for what is logged, an absolute path; empty for none.
	Log string `json:"log,omitempty"`
	// Verbose asks for a report that says all that is known of the run.
	Verbose bool `json:"verbose,omitempty"`
	// Choices asks for every decision of a run that explores.
	Choices bool `json:"choices,omitempty"`
	// Details asks for what a smaller run is made from.
	Details bool `json:"details,omitempty"`
	// Forks have copies of the run go on in other ways from some places on, in order.
	// They lie behind the branches of its spec.
	Forks []Fork `json:"forks,omitempty"`
	// OnlyForks ends the run itself at the last of them, without a verdict.
	OnlyForks bool `json:"onlyForks,omitempty"`
	// Looks has the run looked at so often, behind its last branch or fork; 0 for never.
	Looks time.Duration `json:"looks,omitempty"`
	// NewEnds ends a run that explores with its window, and without a verdict, if a run
	// of the worker before has ended its own alike. See [Explored].
	NewEnds bool `json:"newEnds,omitempty"`
	// InPlace has the run go on in the worker itself instead of in a copy, for
	// debuggers, the race detector, and logs. The worker does nothing else then.
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

// Fork is a place in a run from which copies of it go on.
type Fork struct {
	At sim.Mark `json:"at"`
	// Ways are how: one copy for each.
	Ways []Way `json:"ways"`
}

// Way says how a copy of a run continues: by a tape of its own, or by a branch.
type Way struct {
	// Tape is an open one, of the whole run: what lies before the fork is the run's own.
	Tape []byte `json:"tape,omitempty"`
	// Branch says how, if there is no tape; that it is at the fork goes without saying.
	Branch scenario.Branch `json:"branch,omitzero"`
	// Whole has the copy go on to its end and be judged, whatever NewEnds says.
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

// Answer is what a worker says of a job.
type Answer struct {
	Verdict scenario.Verdict `json:"verdict"`
	// Report is the verdict for people.
	Report string `json:"report"`
	// Diverged means that the tape did not fit.
	Diverged bool `json:"diverged,omitempty"`
	// Error is why there is no verdict.
	Error string `json:"error,omitempty"`
	// Notes say what went wrong on the way and was put right, a sentence each.
	Notes []string `json:"-"`
	// Began is when, on the world's clock, the history's clock stood at zero.
	Began time.Duration `json:"began,omitempty"`
	// Processor is the processor time that the run has taken, and Memory the most
	// memory that it had, in bytes.
	Processor time.Duration `json:"processor,omitempty"`
	Memory    int64         `json:"memory,omitempty"`
	// Details are there if the job asked for them.
	Details *Details `json:"details,omitempty"`
	// Explored is there if the run was one that explores.
	Explored *Explored `json:"explored,omitempty"`
	// Looks are those that the job asked for.
	Looks []explore.Look `json:"looks,omitempty"`
	// Forks are the answers of copies that went on in other ways, by fork and way.
	Forks [][]Reply `json:"forks,omitempty"`
}

// Reply is what becomes of a copy: its answer, or why there is none.
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

// Details are what a smaller run is made from.
type Details struct {
	// Plan is the text of the plan, Parts the steps that the clients took, and Tape
	// the decisions.
	Plan  string          `json:"plan"`
	Parts []workload.Part `json:"parts"`
	Tape  []byte          `json:"tape"`
	// Forced is how the schedule deviated from taking turns.
	Forced sim.Forced `json:"forced"`
	// Schedule is what it was drawn with.
	Schedule sim.Schedule `json:"schedule"`
}

// Faults is how many faults the plan has.
func (d *Details) Faults() int {
	plan, _ := faults.Parse(d.Plan) // it was printed by a plan
	return len(plan)
}
