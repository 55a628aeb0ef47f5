package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/simdisk"
)

// Verdict combines what the run and the oracle found. --json prints one per run.
type Verdict struct {
	Seed     uint64 `json:"seed"`
	Scenario string `json:"scenario"`
	Target   string `json:"target"`
	Mutant   string `json:"mutant,omitempty"`
	Use      string `json:"use,omitempty"`
	// Branches are the branches of the run's schedule.
	Branches []Branch `json:"branches,omitempty"`
	// Knobs are those with unusual values, as name=value, if the seed draws them.
	Knobs []string `json:"knobs,omitempty"`
	// Outcome is passed, failed or inconclusive. Reasons say why it is inconclusive;
	// Reason joins them in one line.
	Outcome linearizability.Outcome  `json:"verdict"`
	Reason  string                   `json:"reason,omitempty"`
	Reasons []linearizability.Reason `json:"reasons,omitempty"`
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
	// Counts is what the history contains; Minimum is what it must contain for the run
	// to be conclusive.
	Counts  linearizability.Counts `json:"counts"`
	Minimum linearizability.Counts `json:"minimum"`
	// Window is the minimum number of changes that the run's caches held, if that is fewer than
	// usual.
	Window int `json:"window,omitempty"`
	// RefreshBound is how long a stream may lag behind etcd, if etcd's progress notifications were
	// rarer than usual; 0 for the usual bound.
	RefreshBound time.Duration `json:"refreshBound,omitempty"`
	// Margins are how close the run came to the bounds on latency.
	Margins []linearizability.Margin `json:"margins,omitempty"`
	// Leaked is how many goroutines API servers left behind after orderly stops.
	Leaked int `json:"leaked_goroutines"`
	// Spins is how often a busy-waiting goroutine was put to sleep.
	Spins uint64 `json:"spins,omitempty"`
	// Folder is where the artifacts are, if any were written.
	Folder string `json:"folder,omitempty"`
}

// Broken returns the guarantees that the run broke, each once, in the order of its violations.
func (v Verdict) Broken() (guarantees []string) {
	for _, violation := range v.Violations {
		if !slices.Contains(guarantees, violation.Guarantee) {
			guarantees = append(guarantees, violation.Guarantee)
		}
	}
	return guarantees
}

// Violation is one broken guarantee, explained if a report shows it.
type Violation = explain.Report

// Completed is the run's own guarantee, unknown to the oracle: that the run completes.
const Completed = "Completed"

// Unfinished returns the violation of a run that did not complete: the reason, a
// description, and the function that panicked, if any.
func Unfinished(code, text, function string) Violation {
	first, _, _ := strings.Cut(text, "\n")
	return Violation{Report: linearizability.Report{Guarantee: Completed, Code: code, Text: text, Sentence: first, Subject: function}}
}

// The reasons why a run is inconclusive, besides the oracle's. For a run that did not
// complete, the reason is the name of its sim.Stop.
const (
	DiskFull         linearizability.ReasonCode = "disk-full"
	TruthUnreadable  linearizability.ReasonCode = "truth-unreadable"
	ClientProblem    linearizability.ReasonCode = "client-problem"
	Uncontrolled     linearizability.ReasonCode = "uncontrolled-goroutines"
	FaultUnaccounted linearizability.ReasonCode = "fault-unaccounted"
	NoFaultFired     linearizability.ReasonCode = "no-fault-fired"
)

// inconclusive makes the verdict inconclusive.
func (v *Verdict) inconclusive(code linearizability.ReasonCode, text string) {
	v.Outcome, v.Reason, v.Reasons = linearizability.Inconclusive, text, []linearizability.Reason{{Code: code, Text: text}}
}

// deliveryBound is how long after healing everything must have arrived. It exceeds both
// the silence of connections after a partition and the backoff of a client that
// could not connect for a short while.
const deliveryBound = 12 * time.Second

// Judge checks the history of a run.
func (r *Run) Judge() Verdict {
	v := Verdict{
		Seed: r.Spec.Seed, Scenario: r.Spec.Scenario, Target: r.Spec.Target, Mutant: r.Spec.Mutant, Use: r.Spec.Use, Branches: r.Spec.Branches,
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
	if r.Spec.Drawn() {
		v.Knobs = r.Spec.Unusual()
	}
	if v.Faults == nil {
		v.Faults = map[string]int{}
	}
	for i := range r.History.Streams {
		v.WatchEvents += len(r.History.Streams[i].Events)
	}
	if r.Result.Stop != sim.Completed {
		v.inconclusive(linearizability.ReasonCode(r.Result.Stop), r.Result.Stop.String())
		if stuck, ok := r.stuck(); ok {
			v.Outcome = linearizability.Failed
			v.Violations = append(v.Violations, stuck)
		}
		return v
	}
	if r.Result.DiskFull {
		v.inconclusive(DiskFull, simdisk.FullReason)
		return v
	}
	if r.Unreadable != nil {
		v.inconclusive(TruthUnreadable, r.Unreadable.Error())
		return v
	}

	start := time.Now()
	config := OracleConfig()
	config.Minimum = v.Minimum
	if r.Spec.WindowEvents > 0 {
		config.Window = min(config.Window, r.Spec.WindowEvents)
		v.Window = config.Window
	}
	if late := r.Spec.Setup.ProgressNotify - etcd.DefaultProgressNotify; late > 0 {
		// A notification may be late by up to a tenth, and etcd skips one after an event.
		config.RefreshBound += 2 * (late + late/10)
		v.RefreshBound = config.RefreshBound
	}
	found := linearizability.Check(r.History, config)
	v.CheckSeconds = time.Since(start).Seconds()

	r.found = found
	v.Outcome, v.Counts, v.Margins = found.Outcome, found.Counts, found.Margins
	if len(found.Violations) > 0 {
		v.Violations = explain.New(r.History).Reports(found.Violations, maxViolations)
	}
	for _, observation := range found.Observations {
		v.Observations = append(v.Observations, observation.Error())
	}
	v.Reasons = append(r.doubts(), found.Reasons...)
	v.Reason = linearizability.Joined(v.Reasons)
	if len(v.Reasons) > 0 && v.Outcome == linearizability.Passed {
		v.Outcome = linearizability.Inconclusive
	}
	return v
}

// OracleConfig returns the limits that the oracle applies to runs.
func OracleConfig() linearizability.Config {
	config := linearizability.DefaultConfig()
	config.DeliveryBound = deliveryBound
	config.Minimum = minimum
	return config
}

// doubts returns the reasons why a history without violations proves nothing.
func (r *Run) doubts() []linearizability.Reason {
	var reasons []linearizability.Reason
	add := func(code linearizability.ReasonCode, text string) {
		reasons = append(reasons, linearizability.Reason{Code: code, Text: text})
	}
	for _, problem := range r.Problems {
		add(ClientProblem, problem.Error())
	}
	if r.Result.Uncontrolled > 0 {
		add(Uncontrolled, fmt.Sprintf("%d goroutines ran without having been picked", r.Result.Uncontrolled))
	}
	for _, problem := range r.unaccounted() {
		add(FaultUnaccounted, problem)
	}
	if len(r.Plan) > 0 && len(r.Faults.Fired) == 0 {
		add(NoFaultFired, "none of the planned faults fired")
	}
	return reasons
}

// OracleLimits renders the limits of the oracle for a banner.
func OracleLimits() string {
	config := OracleConfig()
	return fmt.Sprintf("everything delivered %v after healing; search %v, of streams up to %d events where there are up to %d changes; %d violations of a guarantee shown for each stream or client",
		config.DeliveryBound, config.SearchTimeout, config.SearchEvents, config.SearchChanges, config.ViolationsPerSource)
}
