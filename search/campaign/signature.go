package campaign

import (
	"cmp"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
)

// Signature is what failures of the same cause have in common, as far as that
// can be told from their verdicts. One bug breaks several guarantees, each for
// several clients, and which it is differs from seed to seed. A signature
// therefore names one violation of the run, by a choice that does not depend on
// the order in which they were found.
type Signature struct {
	// Guarantee is the broken one that comes first in the order of causes.
	Guarantee string `json:"guarantee"`
	// Place is what broke it: a stream, a kind of read or write, an informer, a
	// server, or the function that panicked.
	Place string `json:"place"`
	// Shape is what was wrong: the code of the violation and the sorts of differences
	// that there were.
	Shape string `json:"shape"`
}

// String is the signature in a line.
func (s Signature) String() string { return s.Guarantee + ", " + s.Place + ": " + s.Shape }

func (s Signature) compare(other Signature) int {
	return cmp.Or(
		cmp.Compare(rank(s.Guarantee), rank(other.Guarantee)), cmp.Compare(s.Guarantee, other.Guarantee),
		cmp.Compare(s.Place, other.Place), cmp.Compare(s.Shape, other.Shape))
}

// rank is the place of a guarantee in the order of causes. What keeps a run from its
// end comes first.
func rank(guarantee string) int {
	if guarantee == scenario.Completed {
		return -1
	}
	return linearizability.Rank(guarantee)
}

// undetermined is the signature of a seed that was two different runs, of which
// the second broke nothing.
var undetermined = Signature{Guarantee: "none", Place: "run", Shape: "two runs of the seed differ"}

// SignatureOf returns the signature of a failure. ok is false if the result is
// none, and was one run.
func SignatureOf(result Result) (signature Signature, ok bool) {
	if result.Outcome != linearizability.Failed {
		return undetermined, result.NotDeterministic != ""
	}
	signature, _ = leading(result)
	return signature, true
}

// leading is the violation that stands for a failure.
func leading(result Result) (least Signature, witness scenario.Violation) {
	least = Signature{Guarantee: "unknown", Place: "run", Shape: reasonsOf(result)}
	for i, violation := range result.Violations {
		if signature := signatureOf(violation); i == 0 || signature.compare(least) < 0 {
			least, witness = signature, violation
		}
	}
	return least, witness
}

// signatureOf is the signature of one violation.
func signatureOf(v scenario.Violation) Signature {
	shape := []string{v.Code}
	if v.Guarantee == linearizability.Typed.Name && v.Event != nil && v.Owed != nil {
		// Which types of events were lost is chance, but for the guarantee that is about
		// them.
		shape = append(shape, string(v.Event.Type), "instead of", string(v.Owed.Type))
	}
	shape = append(shape, v.Flaws...)
	return Signature{Guarantee: v.Guarantee, Place: cmp.Or(v.Subject, "run"), Shape: strings.Join(shape, " ")}
}

// reasonsOf is what inconclusive results of the same sort have in common.
func reasonsOf(result Result) string {
	var sorts []string
	for _, reason := range result.Reasons {
		sorts = append(sorts, strings.TrimSpace(string(reason.Code)+" "+reason.Of))
	}
	slices.Sort(sorts)
	return strings.Join(slices.Compact(sorts), ", ")
}
