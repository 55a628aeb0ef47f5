package simtest

import (
	"encoding/json"
	"fmt"
	"os"
)

// outcome is what -simtest.report writes for programs, as JSON.
type outcome struct {
	Test string `json:"test"`
	// Passed and Skipped count seeds. NotBegun says which seeds a time limit left out.
	Passed int `json:"passed"`
	// Hashes are those of passed runs of Seeds, by seed: two builds with the same hashes made the same runs.
	Hashes   map[uint64]string `json:"hashes,omitempty"`
	Skipped  int               `json:"skipped,omitempty"`
	NotBegun string            `json:"notBegun,omitempty"`
	// Processor is the processor time of all runs, in seconds.
	Processor float64 `json:"processorSeconds"`
	// Reached counts the runs in which each condition of Sometimes held.
	Reached map[string]int `json:"reached,omitempty"`
	// NotJudged counts runs, by the reason why something was not judged and by resource.
	NotJudged map[string]map[string]int `json:"notJudged,omitempty"`
	Failure   *failedSeed               `json:"failure,omitempty"`
}

// failedSeed is the first seed that failed, made as small as possible.
type failedSeed struct {
	Seed uint64 `json:"seed"`
	Hash string `json:"hash"`
	// Simulated is the simulated time of the run, in seconds.
	Simulated float64 `json:"simulatedSeconds"`
	// ShownSeed and ShownHash are of the smaller run that fails alike, as is everything below.
	ShownSeed uint64 `json:"shownSeed"`
	ShownHash string `json:"shownHash"`
	// Log is what the test logged, with the reason for the failure at the end, one entry a call.
	Log []string `json:"log,omitempty"`
	// Stop is why a run that did not complete ended.
	Stop string `json:"stop,omitempty"`
	// Violations are the guarantees of list and watch that API servers broke.
	Violations []violation `json:"violations,omitempty"`
	// Plan are the faults as Inject takes them; Faults is how many there were before shrinking.
	Plan   string `json:"plan,omitempty"`
	Faults int    `json:"faults"`
}

// report writes the outcome to the file of the flag, if it is given. small is the failure with what it needs, nil for none.
func (h *hunt) report(small *report) error {
	if *flagReport == "" {
		return nil
	}
	o := outcome{Test: h.t.Name(), Passed: h.passed, Hashes: h.hashes, Skipped: h.skipped, NotBegun: h.cut, Processor: h.spent.Seconds(), Reached: h.reached, NotJudged: h.omitted}
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
