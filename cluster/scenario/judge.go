package scenario

import (
	"fmt"
	"strings"
	"time"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/simdisk"
)

// Verdict is what the run itself and the oracle say together. It is the object
// that --json prints, one a run.
type Verdict struct {
	Seed     uint64 `json:"seed"`
	Scenario string `json:"scenario"`
	Target   string `json:"target"`
	Mutant   string `json:"mutant,omitempty"`
	// Branches are those of the run's schedule.
	Branches []Branch `json:"branches,omitempty"`
	// Outcome is passed, failed or inconclusive, and Reason why it is the latter.
	Outcome linearizability.Outcome `json:"verdict"`
	Reason  string                  `json:"reason,omitempty"`
	// Hash is the running hash over all decisions, in hexadecimal.
	Hash             string         `json:"hash"`
	Decisions        uint64         `json:"decisions"`
	SimulatedSeconds float64        `json:"simulated_seconds"`
	WallSeconds      float64        `json:"wall_seconds"`
	CheckSeconds     float64        `json:"check_seconds"`
	Operations       int            `json:"operations"`
	WatchEvents      int            `json:"watch_events"`
	Faults           map[string]int `json:"faults"`
	// NotFired counts planned faults that could not happen.
	NotFired int `json:"faults_not_fired"`
	// Unfired says which those were, and why.
	Unfired    []Unfired   `json:"not_fired,omitempty"`
	Violations []Violation `json:"violations"`
	// Observations are phenomena that break no guarantee, such as time travel.
	Observations []string `json:"observations,omitempty"`
	// Counts is what the history holds, Minimum what it has to hold lest the run
	// be inconclusive.
	Counts  linearizability.Counts `json:"counts"`
	Minimum linearizability.Counts `json:"minimum"`
	// Leaked is how many goroutines API servers left behind at orderly stops.
	Leaked int `json:"leaked_goroutines"`
	// Spins is how often goroutines that went round in circles were put to sleep.
	Spins uint64 `json:"spins,omitempty"`
	// Folder is where the artefacts are, if any were written.
	Folder string `json:"folder,omitempty"`
}

// Violation is one broken guarantee.
type Violation struct {
	Guarantee string `json:"guarantee"`
	Text      string `json:"text"`
	// Explanation is what happened around it, in paragraphs; only the violations
	// that a report shows have one.
	Explanation []string `json:"explanation,omitempty"`
	// Slice is what led to it, in order of time; the same violations have one.
	Slice []explain.Moment `json:"slice,omitempty"`
}

// deliveryBound is how long after healing everything must have arrived: longer
// than connections stay silent after a partition, and than a reconnecting
// client backs off.
const deliveryBound = 12 * time.Second

// Judge checks the history of a run.
func (r *Run) Judge() Verdict {
	v := Verdict{
		Seed: r.Spec.Seed, Scenario: r.Spec.Scenario, Target: r.Spec.Target, Mutant: r.Spec.Mutant, Branches: r.Spec.Branches,
		Hash:             fmt.Sprintf("%016x", r.Result.Hash),
		Decisions:        r.Result.Decisions,
		SimulatedSeconds: r.Result.Simulated.Seconds(),
		WallSeconds:      r.Result.Wall.Seconds(),
		Operations:       len(r.History.Operations),
		Faults:           r.Faults.Counts,
		NotFired:         len(r.Faults.NotFired),
		Unfired:          r.unfired(),
		Minimum:          r.Spec.minimum(),
		Violations:       []Violation{},
		Leaked:           r.Leaked,
		Spins:            r.Result.Spins,
	}
	if v.Faults == nil {
		v.Faults = map[string]int{}
	}
	for i := range r.History.Streams {
		v.WatchEvents += len(r.History.Streams[i].Events)
	}
	if r.Result.Stop != sim.Completed {
		v.Outcome, v.Reason = linearizability.Inconclusive, string(r.Result.Stop)
		if r.Result.Stop == sim.Deadlock {
			v.Outcome = linearizability.Failed
			v.Violations = append(v.Violations, Violation{Guarantee: "Completed", Text: string(r.Result.Stop)})
		}
		return v
	}
	if r.Result.DiskFull {
		v.Outcome, v.Reason = linearizability.Inconclusive, simdisk.FullReason
		return v
	}
	if r.Unreadable != nil {
		v.Outcome, v.Reason = linearizability.Inconclusive, r.Unreadable.Error()
		return v
	}

	start := time.Now()
	config := OracleConfig()
	config.Minimum = v.Minimum
	found := linearizability.Check(r.History, config)
	v.CheckSeconds = time.Since(start).Seconds()

	r.found = found
	v.Outcome, v.Reason, v.Counts = found.Outcome, found.Reason, found.Counts
	v.Violations = append(v.Violations, r.explained(found.Violations)...)
	for _, observation := range found.Observations {
		v.Observations = append(v.Observations, observation.String())
	}
	if reasons := r.doubts(); len(reasons) > 0 {
		v.Reason = strings.Join(append(reasons, nonEmpty(v.Reason)...), "; ")
		if v.Outcome == linearizability.Passed {
			v.Outcome = linearizability.Inconclusive
		}
	}
	return v
}

// OracleConfig returns the limits that runs are judged by.
func OracleConfig() linearizability.Config {
	config := linearizability.DefaultConfig()
	config.DeliveryBound = deliveryBound
	config.Minimum = minimum
	return config
}

// explained puts violations into words, the first of them into paragraphs.
func (r *Run) explained(found []linearizability.Violation) []Violation {
	if len(found) == 0 {
		return nil
	}
	explainer := explain.New(r.History)
	violations := make([]Violation, len(found))
	for i, violation := range found {
		violations[i] = Violation{Guarantee: violation.Guarantee.Name, Text: violation.Error()}
		if i < maxViolations {
			violations[i].Explanation = explainer.Explain(violation)
			violations[i].Slice = explainer.Slice(violation)
		}
	}
	return violations
}

// doubts are the reasons why a history without violations proves nothing.
func (r *Run) doubts() []string {
	var reasons []string
	for _, problem := range r.Problems {
		reasons = append(reasons, problem.Error())
	}
	if r.Result.Uncontrolled > 0 {
		reasons = append(reasons, fmt.Sprintf("%d goroutines ran without having been picked", r.Result.Uncontrolled))
	}
	reasons = append(reasons, r.unaccounted()...)
	if len(r.Plan) > 0 && len(r.Faults.Fired) == 0 {
		reasons = append(reasons, "none of the planned faults fired")
	}
	return reasons
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// OracleLimits renders the limits of the oracle for a banner.
func OracleLimits() string {
	config := OracleConfig()
	return fmt.Sprintf("everything delivered %v after healing; search %v, of streams up to %d events where there are up to %d changes; %d violations of a guarantee shown for each stream or client",
		config.DeliveryBound, config.SearchTimeout, config.SearchEvents, config.SearchChanges, config.ViolationsPerSource)
}
