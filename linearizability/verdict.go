package linearizability

import (
	"fmt"
	"strings"
	"time"
)

// Outcome is the result of judging a history.
type Outcome string

// The outcomes. A broken guarantee fails a history even if another rule could
// not be decided; a history is never passed by default.
const (
	Passed Outcome = "passed"
	Failed Outcome = "failed"
	// Inconclusive means that a rule could not be decided or that too little
	// happened to be worth a judgement.
	Inconclusive Outcome = "inconclusive"
)

// Verdict is what the oracle says of one history.
type Verdict struct {
	Outcome Outcome
	// Violations are all that was found, in the order of Rules and, of one
	// guarantee, in the order of the history.
	Violations []Violation
	// Observations are what was seen that breaks no guarantee; they have no say
	// in the outcome.
	Observations []Observation
	// Margins are what came closest to the bounds of the guarantees on latency.
	Margins []Margin
	// Reasons say why the verdict is inconclusive, or what a failed verdict leaves
	// unjudged; Reason is all of them in a line.
	Reasons []Reason
	Reason  string
	Counts  Counts
}

// Margin is the longest, in nanoseconds, that anything took in a history which a
// guarantee bounds, beside that bound.
type Margin struct {
	Guarantee string        `json:"guarantee"`
	Slowest   time.Duration `json:"slowest"`
	Bound     time.Duration `json:"bound"`
}

// String returns the margin in words.
func (m Margin) String() string {
	return fmt.Sprintf("%s %v of %v", m.Guarantee, m.Slowest.Round(time.Millisecond), m.Bound)
}

// Reason is one reason why a history proves nothing.
type Reason struct {
	Code ReasonCode `json:"code"`
	// Of is what there was too little of, empty for other reasons.
	Of   string `json:"of,omitempty"`
	Text string `json:"text"`
}

// ReasonCode is a sort of reason.
type ReasonCode string

// The reasons of the oracle. Those of runs are in package scenario.
const (
	TooLittleHappened   ReasonCode = "too-little-happened"
	SearchGaveUp        ReasonCode = "search-gave-up"
	RevisionsOutOfOrder ReasonCode = "revisions-out-of-order"
	HistoryIncomplete   ReasonCode = "history-incomplete"
	NoTruth             ReasonCode = "no-truth" // it does not say what etcd committed
	// OracleDisagrees means that the oracle has a mistake: see search.go.
	OracleDisagrees ReasonCode = "oracle-disagrees"
)

// Joined returns reasons in a line.
func Joined(reasons []Reason) string {
	texts := make([]string, len(reasons))
	for i, reason := range reasons {
		texts[i] = reason.Text
	}
	return strings.Join(texts, "; ")
}
