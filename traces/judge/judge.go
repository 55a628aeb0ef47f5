package judge

import (
	"cmp"
	"io"
	"time"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
)

// maxExplained is how many violations of one history are explained. The others only
// have their message.
const maxExplained = 100

// Verdict is the oracle's verdict on one file. It is the object that
// `simrun check --json` prints for each file.
type Verdict struct {
	File string `json:"file"`
	// Error says in a sentence why the file could not be judged. If it is set, the
	// fields below are meaningless.
	Error string `json:"error,omitempty"`

	Seed       uint64            `json:"seed,omitempty"`
	Target     string            `json:"target,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`

	// Outcome is passed, failed or inconclusive, and Reason why it is inconclusive.
	Outcome linearizability.Outcome `json:"verdict,omitempty"`
	Reason  string                  `json:"reason,omitempty"`
	// Reasons are the same, one by one.
	Reasons []linearizability.Reason `json:"reasons,omitempty"`

	RecordedSeconds float64     `json:"recorded_seconds"`
	CheckSeconds    float64     `json:"check_seconds"`
	Operations      int         `json:"operations"`
	Streams         int         `json:"streams"`
	WatchEvents     int         `json:"watch_events"`
	Violations      []Violation `json:"violations"`
	// Observations break no guarantee.
	Observations []string `json:"observations,omitempty"`
	// Stale says how stale the states were that each server returned.
	Stale []Staleness `json:"stale,omitempty"`
	// Counts is what the history contains, Minimum what it must contain for a
	// conclusive verdict.
	Counts  linearizability.Counts `json:"counts"`
	Minimum linearizability.Counts `json:"minimum"`
}

// Violation is one broken guarantee.
type Violation = explain.Report

// File judges the history at a path: a file, the folder of a run, or [Stdin]. If it
// cannot be judged, the verdict has an Error. In the folder of a run, the minimum is
// that of the run's own verdict.
func File(path string, stdin io.Reader, config linearizability.Config) Verdict {
	read, err := Read(path, stdin)
	if err != nil {
		return Verdict{File: path, Error: err.Error(), Violations: []Violation{}}
	}
	v := History(read.History, read.Limits(config))
	v.File, v.Seed, v.Target, v.Attributes = read.Name, read.Header.Seed, read.Header.Target, read.Header.Attributes
	return v
}

// Limits returns the limits to judge the history by: in the folder of a run, those of
// the run.
func (r Recorded) Limits(config linearizability.Config) linearizability.Config {
	if r.judged.Minimum != nil {
		config.Minimum = *r.judged.Minimum
	}
	config.Window = cmp.Or(max(r.judged.Window, 0), config.Window)
	config.RefreshBound = cmp.Or(max(r.judged.RefreshBound, 0), config.RefreshBound)
	if r.Header.Attributes[traces.AttributeTruth] != "" {
		config = forRealCluster(config)
	}
	return config
}

// forRealCluster relaxes what a recording of a real cluster cannot satisfy: it need
// not have writes or events, and the changes in a cache's window cannot be counted if
// not all changes are known.
func forRealCluster(config linearizability.Config) linearizability.Config {
	config.Minimum = linearizability.Counts{Changes: 1}
	config.Window = 0
	return config
}

// RealCluster judges a history of a real cluster.
func RealCluster(history *model.History) Verdict {
	return History(history, forRealCluster(linearizability.DefaultConfig()))
}

// History judges a valid history and explains its violations.
func History(history *model.History, config linearizability.Config) Verdict {
	v := Verdict{
		RecordedSeconds: time.Duration(history.End).Seconds(),
		Operations:      len(history.Operations),
		Streams:         len(history.Streams),
		Violations:      []Violation{},
		Minimum:         config.Minimum,
	}
	for i := range history.Streams {
		v.WatchEvents += len(history.Streams[i].Events)
	}
	start := time.Now()
	found := Check(history, config)
	v.CheckSeconds = time.Since(start).Seconds()
	v.Outcome, v.Reason, v.Reasons, v.Counts = found.Outcome, found.Reason, found.Reasons, found.Counts
	v.Stale = stalenessOf(history)
	for _, observation := range found.Observations {
		v.Observations = append(v.Observations, observation.Error())
	}
	if len(found.Violations) > 0 {
		v.Violations = explain.New(history).Reports(found.Violations, maxExplained)
	}
	return v
}

// Check judges a valid history as [linearizability.Check] does, if it has the ground
// truth.
func Check(history *model.History, config linearizability.Config) linearizability.Verdict {
	if history.Truth.Revision == 0 {
		// etcd starts at revision 1, so the truth is missing.
		reason := linearizability.Reason{Code: linearizability.NoTruth,
			Text: "the history does not say what etcd committed, which every rule needs"}
		return linearizability.Verdict{Outcome: linearizability.Inconclusive, Reason: reason.Text, Reasons: []linearizability.Reason{reason}}
	}
	return linearizability.Check(history, config)
}

// Severity orders verdicts from good to bad, for the exit code for several files.
type Severity int

// The severities. A file that could not be read is the worst, because its content is
// unknown.
const (
	Passed Severity = iota
	Inconclusive
	Failed
	Unreadable
)

// Severity returns how bad a verdict is.
func (v Verdict) Severity() Severity {
	switch {
	case v.Error != "":
		return Unreadable
	case v.Outcome == linearizability.Failed:
		return Failed
	case v.Outcome == linearizability.Passed:
		return Passed
	}
	return Inconclusive
}
