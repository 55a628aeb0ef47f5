package swarm

import (
	"time"

	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/scenario"
	"github.com/watchsim/watchsim/sim/workload"
)

// Job is one run to be done by a worker.
type Job struct {
	// Protocol is that of whoever gives the job; see [ErrProtocol].
	Protocol string `json:"protocol"`

	Spec scenario.Spec `json:"spec"`
	// Folder is where the artefacts go, an absolute path; empty for none.
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
	// Choices asks for every decision of a run that explores.
	Choices bool `json:"choices,omitempty"`
	// Details asks for what a smaller run is made from.
	Details bool `json:"details,omitempty"`
}

// Sealed is a job as it is written for a worker that is started by hand.
func Sealed(job Job) Job {
	job.Protocol = protocol
	return job
}

// recordsMost bounds the trace that the decisions of a run's folder are taken from:
// 256 MiB, which is given back when they are written.
const recordsMost = 2 << 20

// traceRecords is how long a trace the job needs, 0 for all of it.
func (j Job) traceRecords() int {
	if j.Trace != "" || j.Details {
		return 0
	}
	return recordsMost
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
	// Memory is the worker's resident memory, in bytes.
	Memory int64 `json:"memory"`
	// Began is when, on the world's clock, the history's clock stood at zero.
	Began time.Duration `json:"began,omitempty"`
	// Processor is the processor time that the worker has used since the answer
	// before, or since it began.
	Processor time.Duration `json:"processor"`
	// Details are there if the job asked for them.
	Details *Details `json:"details,omitempty"`
	// Explored is there if the run was one that explores.
	Explored *Explored `json:"explored,omitempty"`
}

// Details are what a smaller run is made from.
type Details struct {
	// Plan is the text of the plan, Parts the steps that the clients took, and Tape
	// the decisions.
	Plan  string          `json:"plan"`
	Parts []workload.Part `json:"parts"`
	Tape  []byte          `json:"tape"`
	// Forced is how the schedule departed from taking turns.
	Forced sim.Forced `json:"forced"`
	// Schedule is what it was drawn with.
	Schedule sim.Schedule `json:"schedule"`
}

// Faults is how many faults the plan has.
func (d *Details) Faults() int {
	plan, _ := faults.Parse(d.Plan) // it was printed by a plan
	return len(plan)
}
