package campaign

import (
	"cmp"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
)

// Signature is what failures with the same cause have in common, as far as their verdicts tell. One
// bug breaks several guarantees, each for several clients, and which ones differs from seed to
// seed. A signature therefore names one violation of the run, chosen independently of the order in
// which they were found.
type Signature struct {
	// Guarantee is the broken guarantee that is first in the order of causes.
	Guarantee string `json:"guarantee"`
	// Place is what broke it: a stream, a kind of read or write, an informer, a
	// server, or the function that panicked.
	Place string `json:"place"`
	// Shape is what was wrong: the code of the violation and the kinds of differences.
	Shape string `json:"shape"`
}

func (s Signature) compare(other Signature) int {
	return cmp.Or(
		cmp.Compare(rank(s.Guarantee), rank(other.Guarantee)), cmp.Compare(s.Guarantee, other.Guarantee),
		cmp.Compare(s.Place, other.Place), cmp.Compare(s.Shape, other.Shape))
}

// rank returns the position of a guarantee in the order of causes. What keeps a run from completing
// comes first.
func rank(guarantee string) int {
	if guarantee == scenario.Completed {
		return -1
	}
	return linearizability.Rank(guarantee)
}

// undetermined is the signature of a seed that was two different runs, the second of which broke
// nothing.
var undetermined = Signature{Guarantee: "none", Place: "run", Shape: "two runs of the seed differ"}

// SignatureOf returns the signature of a failure. ok is false if the result is neither a failure
// nor two different runs.
func SignatureOf(result Result) (signature Signature, ok bool) {
	if result.Outcome != linearizability.Failed {
		return undetermined, result.NotDeterministic != ""
	}
	signature, _ = leading(result)
	return signature, true
}

// leading returns the violation that represents a failure.
func leading(result Result) (least Signature, witness scenario.Violation) {
	least = Signature{Guarantee: "unknown", Place: "run", Shape: reasonsOf(result)}
	for i, violation := range result.Violations {
		if signature := signatureOf(violation); i == 0 || signature.compare(least) < 0 {
			least, witness = signature, violation
		}
	}
	return least, witness
}

// signatureOf returns the signature of one violation.
func signatureOf(v scenario.Violation) Signature {
	shape := []string{v.Code}
	if v.Guarantee == linearizability.Typed.Name && v.Event != nil && v.Owed != nil {
		// Which types of events were lost is chance, except for the guarantee that is about types.
		shape = append(shape, string(v.Event.Type), "instead of", string(v.Owed.Type))
	}
	shape = append(shape, v.Flaws...)
	return Signature{Guarantee: v.Guarantee, Place: cmp.Or(v.Subject, "run"), Shape: strings.Join(shape, " ")}
}

// reasonsOf returns what inconclusive results of the same kind have in common.
func reasonsOf(result Result) string {
	var sorts []string
	for _, reason := range result.Reasons {
		sorts = append(sorts, strings.TrimSpace(string(reason.Code)+" "+reason.Of))
	}
	slices.Sort(sorts)
	return strings.Join(slices.Compact(sorts), ", ")
}
