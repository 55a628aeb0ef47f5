package simtest

import (
	"encoding/json"
	"fmt"
	"os"
)

// outcome is what -simtest.report writes for programs, as JSON.
type outcome struct {
	Test string `json:"test"`
	// Passed and Skipped are numbers of seeds. NotBegun says which seeds a limit of time has left out.
	Passed   int    `json:"passed"`
	Skipped  int    `json:"skipped,omitempty"`
	NotBegun string `json:"notBegun,omitempty"`
	// Processor is the processor time of all runs, in seconds.
	Processor float64 `json:"processorSeconds"`
	// Reached is in how many runs each condition of Sometimes held.
	Reached map[string]int `json:"reached,omitempty"`
	// NotJudged is why something was not judged, of which resource, in how many runs.
	NotJudged map[string]map[string]int `json:"notJudged,omitempty"`
	Failure   *failedSeed               `json:"failure,omitempty"`
}

// failedSeed is the first seed that failed, once it is as small as can be.
type failedSeed struct {
	Seed uint64 `json:"seed"`
	Hash string `json:"hash"`
	// Simulated is how long the run took by its own clock, in seconds.
	Simulated float64 `json:"simulatedSeconds"`
	// ShownSeed and ShownHash are the smaller run that fails alike, which all that follows is of.
	ShownSeed uint64 `json:"shownSeed"`
	ShownHash string `json:"shownHash"`
	// Log is what the test logged, why it failed at the end, an entry for each call.
	Log []string `json:"log,omitempty"`
	// Stop is why a run ended that did not come to its end.
	Stop string `json:"stop,omitempty"`
	// Violations are the guarantees of list and watch that API servers broke.
	Violations []violation `json:"violations,omitempty"`
	// Plan are the faults by the time since they were to begin, as Inject takes them, of which there were so many before those were dropped that the failure does not need.
	Plan   string `json:"plan,omitempty"`
	Faults int    `json:"faults"`
}

// report writes the outcome to the file of the flag, if it is given. small is the failure with what it needs, nil for none.
func (h *hunt) report(small *report) error {
	if *flagReport == "" {
		return nil
	}
	o := outcome{Test: h.t.Name(), Passed: h.passed, Skipped: h.skipped, NotBegun: h.cut, Processor: h.spent.Seconds(), Reached: h.reached, NotJudged: h.omitted}
	if small != nil {
		o.Failure = &failedSeed{
			Seed: h.failed.Seed, Hash: fmt.Sprintf("%016x", h.failed.Hash), Simulated: h.failed.Simulated.Seconds(),
			ShownSeed: small.Seed, ShownHash: fmt.Sprintf("%016x", small.Hash), Log: small.Log, Stop: small.Stop,
			Violations: small.Violations, Plan: withoutHeader(small.Plan), Faults: h.failed.Faults,
		}
	}
	text, err := json.Marshal(o)
	if err == nil {
		err = os.WriteFile(*flagReport, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("-simtest.report: %w", err)
	}
	return nil
}
