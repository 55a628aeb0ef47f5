package linearizability

import (
	"fmt"
	"strings"

	"github.com/watchsim/watchsim/model"
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
	// Violations are all that was found, in the order in which rules run and,
	// within a rule, in the order of the history.
	Violations []Violation
	// Observations are what was seen that breaks no guarantee; they have no say
	// in the outcome.
	Observations []Observation
	// Reason says why the verdict is inconclusive, or what a failed verdict
	// leaves unjudged; empty otherwise.
	Reason string
	Counts Counts
}

// Err returns an error that wraps every violation, nil if there is none.
func (v Verdict) Err() error {
	if len(v.Violations) == 0 {
		return nil
	}
	return verdictError(v.Violations)
}

type verdictError []Violation

func (e verdictError) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

func (e verdictError) Unwrap() []error {
	wrapped := make([]error, len(e))
	for i := range e {
		wrapped[i] = e[i]
	}
	return wrapped
}

// Violation is one broken guarantee and the witness that breaks it.
type Violation struct {
	Guarantee *Guarantee
	// Text names the client, the operation or stream, the RVs and the simulated
	// times, and says what was expected instead.
	Text    string
	Witness Witness
	// More counts the violations of the same guarantee by the same stream or
	// client that Config.ViolationsPerSource cut off after this one.
	More int
}

// Error returns the guarantee's name, the text, and the guarantee in a sentence.
func (v Violation) Error() string {
	text := fmt.Sprintf("%s: %s (%s)", v.Guarantee.Name, v.Text, v.Guarantee)
	if v.More > 0 {
		text += fmt.Sprintf("; and %d more", v.More)
	}
	return text
}

// Unwrap returns the guarantee.
func (v Violation) Unwrap() error { return v.Guarantee }

// Observation is a phenomenon and what shows it.
type Observation struct {
	Phenomenon *Phenomenon
	// Text is as that of a violation.
	Text    string
	Witness Witness
}

// String returns the phenomenon's name, the text, and the phenomenon in a
// sentence.
func (o Observation) String() string {
	return fmt.Sprintf("%s: %s (%s)", o.Phenomenon.Name, o.Text, o.Phenomenon)
}

// Witness is the least of a history that shows a violation. Its parts point
// into the history and must not be changed.
type Witness struct {
	// Client is whose stream, operation or informer broke the guarantee; empty
	// if it was the store itself.
	Client string
	// Stream is the ID of the stream, 0 if no stream is concerned.
	Stream int
	// Operations are the operations concerned, the one at fault first.
	Operations []*model.Operation
	// Events are the stream's events concerned, the one at fault first.
	Events []*model.Event
	// RVs are the revisions of the changes concerned.
	RVs []int64
}

// Counts says how much a history held, so that a verdict can be told from a
// vacuous one.
type Counts struct {
	Writes        int `json:"writes"`        // acknowledged creates, updates and deletes
	UnknownWrites int `json:"unknownWrites"` // writes whose outcome the client never learned
	FailedWrites  int `json:"failedWrites"`  // writes that the server refused
	Gets          int `json:"gets"`          // successful, or NotFound
	Lists         int `json:"lists"`         // successful, pages included
	Pages         int `json:"pages"`         // successful continuations
	Streams       int `json:"streams"`       // watches that opened
	Blocks        int `json:"blocks"`        // initial blocks judged
	Resumed       int `json:"resumed"`       // streams that continue a stream or list
	Refused       int `json:"refused"`       // watches and reads answered 410 or TooLarge
	Events        int `json:"events"`        // ADDED, MODIFIED and DELETED
	Bookmarks     int `json:"bookmarks"`
	Changes       int `json:"changes"`
	Compactions   int `json:"compactions"`
	Faults        int `json:"faults"`
	Informers     int `json:"informers"` // judged for Converged
	Searched      int `json:"searched"`  // streams judged by the search as well
	Delivered     int `json:"delivered"` // open streams judged for Delivered
	Relists       int `json:"relists"`   // times that a client which had watched began anew
	Gone          int `json:"gone"`      // watches and reads answered 410
	Refreshed     int `json:"refreshed"` // streams on which a bookmark alone told of progress
	Unblocked     int `json:"unblocked"` // events that arrived beside a consumer that did not read
	Shared        int `json:"shared"`    // censuses judged for Shared
	Released      int `json:"released"`  // servers judged for Released
	Scribbled     int `json:"scribbled"` // delivered objects that a consumer wrote over
	Ended         int `json:"ended"`     // streams that ended, by whatever hand
	// TimeTravels are reads of any state that showed a client an older one than
	// it had seen.
	TimeTravels int `json:"timeTravels"`
}

// counted is one count, and the least that was asked for.
type counted struct {
	name      string
	got, want int
}

// beside lists all counts beside a minimum.
func (c Counts) beside(minimum Counts) []counted {
	return []counted{
		{"writes", c.Writes, minimum.Writes},
		{"writes with unknown outcome", c.UnknownWrites, minimum.UnknownWrites},
		{"failed writes", c.FailedWrites, minimum.FailedWrites},
		{"gets", c.Gets, minimum.Gets},
		{"lists", c.Lists, minimum.Lists},
		{"pages", c.Pages, minimum.Pages},
		{"streams", c.Streams, minimum.Streams},
		{"initial blocks", c.Blocks, minimum.Blocks},
		{"resumed streams", c.Resumed, minimum.Resumed},
		{"refused requests", c.Refused, minimum.Refused},
		{"events", c.Events, minimum.Events},
		{"bookmarks", c.Bookmarks, minimum.Bookmarks},
		{"changes", c.Changes, minimum.Changes},
		{"compactions", c.Compactions, minimum.Compactions},
		{"faults", c.Faults, minimum.Faults},
		{"informers", c.Informers, minimum.Informers},
		{"streams judged by the search", c.Searched, minimum.Searched},
		{"streams judged for delivery", c.Delivered, minimum.Delivered},
		{"relists", c.Relists, minimum.Relists},
		{"answers of 410", c.Gone, minimum.Gone},
		{"streams refreshed by bookmarks alone", c.Refreshed, minimum.Refreshed},
		{"events beside a consumer that did not read", c.Unblocked, minimum.Unblocked},
		{"censuses of shared watches", c.Shared, minimum.Shared},
		{"servers judged for what they released", c.Released, minimum.Released},
		{"objects scribbled on", c.Scribbled, minimum.Scribbled},
		{"streams that ended", c.Ended, minimum.Ended},
		{"time travels", c.TimeTravels, minimum.TimeTravels},
	}
}

// below lists the counts that are lower than the minimum asked for.
func (c Counts) below(minimum Counts) []string {
	var short []string
	for _, count := range c.beside(minimum) {
		if count.got < count.want {
			short = append(short, fmt.Sprintf("%d %s of at least %d", count.got, count.name, count.want))
		}
	}
	return short
}

// Against lists what was counted, with the minimum where there is one.
func (c Counts) Against(minimum Counts) string {
	var parts []string
	for _, count := range c.beside(minimum) {
		switch {
		case count.want > 0:
			parts = append(parts, fmt.Sprintf("%d %s (at least %d)", count.got, count.name, count.want))
		case count.got > 0:
			parts = append(parts, fmt.Sprintf("%d %s", count.got, count.name))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
