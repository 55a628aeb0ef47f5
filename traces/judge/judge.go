package judge

import (
	"io"
	"time"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
)

// maxExplained is how many violations of one history are explained. The rest
// has its sentence alone.
const maxExplained = 100

// Verdict is what the oracle says of one file. It is the object that
// `simrun check --json` prints, one a file.
type Verdict struct {
	File string `json:"file"`
	// Error says in a sentence why the file could not be judged. Nothing below
	// means anything then.
	Error string `json:"error,omitempty"`

	Seed       uint64            `json:"seed,omitempty"`
	Target     string            `json:"target,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`

	// Outcome is passed, failed or inconclusive, and Reason why it is the latter.
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
	// Observations are what was seen that breaks no guarantee.
	Observations []string `json:"observations,omitempty"`
	// Stale says how old what each server showed was.
	Stale []Staleness `json:"stale,omitempty"`
	// Counts is what the history holds, Minimum what it has to hold lest it be
	// inconclusive.
	Counts  linearizability.Counts `json:"counts"`
	Minimum linearizability.Counts `json:"minimum"`
}

// Violation is one broken guarantee.
type Violation = explain.Report

// File judges the history at a path: a file, the folder of a run, or [Stdin]. A
// file that cannot be judged has a verdict with an error. In the folder of a run,
// the minimum is the one that the run's own verdict names.
func File(path string, stdin io.Reader, config linearizability.Config) Verdict {
	read, err := Read(path, stdin)
	if err != nil {
		return Verdict{File: path, Error: err.Error(), Violations: []Violation{}}
	}
	v := History(read.History, read.Limits(config))
	v.File, v.Seed, v.Target, v.Attributes = read.Name, read.Header.Seed, read.Header.Target, read.Header.Attributes
	return v
}

// Limits returns the limits to judge the history by: in the folder of a run, those that
// the run had.
func (r Recorded) Limits(config linearizability.Config) linearizability.Config {
	if r.judged.Minimum != nil {
		config.Minimum = *r.judged.Minimum
	}
	if r.judged.Window > 0 {
		config.Window = r.judged.Window
	}
	if r.judged.RefreshBound > 0 {
		config.RefreshBound = r.judged.RefreshBound
	}
	if r.Header.Attributes[traces.AttributeTruth] != "" {
		config = forRealCluster(config)
	}
	return config
}

// forRealCluster relaxes what takes more than a recording of a real cluster holds:
// clients need not have written, nor events have come, and how many changes a cache
// holds cannot be counted where not all of them are known.
func forRealCluster(config linearizability.Config) linearizability.Config {
	config.Minimum = linearizability.Counts{Changes: 1}
	config.Window = 0
	return config
}

// RealCluster judges a history that was made of what was seen of a real cluster.
func RealCluster(history *model.History) Verdict {
	return History(history, forRealCluster(linearizability.DefaultConfig()))
}

// History judges a valid history and explains what it finds.
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
		v.Observations = append(v.Observations, observation.String())
	}
	if len(found.Violations) > 0 {
		v.Violations = explain.New(history).Reports(found.Violations, maxExplained)
	}
	return v
}

// Check judges a valid history as [linearizability.Check] does, if it says what
// etcd committed.
func Check(history *model.History, config linearizability.Config) linearizability.Verdict {
	if history.Truth.Revision == 0 {
		// etcd begins at revision 1, so nobody has looked.
		reason := linearizability.Reason{Code: linearizability.NoTruth,
			Text: "the history does not say what etcd committed, and everything is judged by that"}
		return linearizability.Verdict{Outcome: linearizability.Inconclusive, Reason: reason.Text, Reasons: []linearizability.Reason{reason}}
	}
	return linearizability.Check(history, config)
}

// Severity orders verdicts from good to bad, for the exit code of several.
type Severity int

// The severities. A file that could not be read is the worst: nobody knows what it
// holds.
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
