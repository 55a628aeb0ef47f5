package linearizability

import (
	"fmt"
	"strings"
	"time"
)

// Outcome is the result of judging a history.
type Outcome string

// The outcomes. A broken guarantee fails a history even if another rule was
// undecided. No history passes by default.
const (
	Passed Outcome = "passed"
	Failed Outcome = "failed"
	// Inconclusive means that a rule was undecided, or that too little happened
	// for a verdict.
	Inconclusive Outcome = "inconclusive"
)

// Verdict is the result of checking one history.
type Verdict struct {
	Outcome Outcome
	// Violations are in the order of Guarantees and, for one guarantee, in the order of
	// the history.
	Violations []Violation
	// Observations break no guarantee, and do not affect the outcome.
	Observations []Violation
	// Margins say how close the history came to the bounds on latency.
	Margins []Margin
	// Reasons say why the verdict is inconclusive, or what a failed verdict leaves
	// undecided; Reason is all of them in one line.
	Reasons []Reason
	Reason  string
	Counts  Counts
}

// Margin is the longest time in a history that a guarantee limits, and the limit, in
// nanoseconds.
type Margin struct {
	Guarantee string        `json:"guarantee"`
	Slowest   time.Duration `json:"slowest"`
	Bound     time.Duration `json:"bound"`
}

// String returns the margin as text.
func (m Margin) String() string {
	return fmt.Sprintf("%s %v of %v", m.Guarantee, m.Slowest.Round(time.Millisecond), m.Bound)
}

// Reason is one reason why a verdict is inconclusive.
type Reason struct {
	Code ReasonCode `json:"code"`
	// Of is what there was too little of, empty for other codes.
	Of   string `json:"of,omitempty"`
	Text string `json:"text"`
}

// ReasonCode is a kind of reason.
type ReasonCode string

// The reasons of the oracle. Those of runs are in package scenario.
const (
	TooLittleHappened   ReasonCode = "too-little-happened"
	SearchGaveUp        ReasonCode = "search-gave-up"
	RevisionsOutOfOrder ReasonCode = "revisions-out-of-order"
	HistoryIncomplete   ReasonCode = "history-incomplete"
	NoTruth             ReasonCode = "no-truth" // the history does not say what etcd committed
	// OracleDisagrees means that the oracle has a bug: see search.go.
	OracleDisagrees ReasonCode = "oracle-disagrees"
)

// Joined returns reasons in one line.
func Joined(reasons []Reason) string {
	texts := make([]string, len(reasons))
	for i, reason := range reasons {
		texts[i] = reason.Text
	}
	return strings.Join(texts, "; ")
}
