package swarm

import "github.com/watchsim/watchsim/sim/scenario"

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
}
