package campaign

import (
	"cmp"
	"regexp"
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
	// Shape is what was said of it, without names, numbers and times.
	Shape string `json:"shape"`
}

// String is the signature in a line.
func (s Signature) String() string { return s.Guarantee + ", " + s.Place + ": " + s.Shape }

func (s Signature) compare(other Signature) int {
	return cmp.Or(
		cmp.Compare(rank(s.Guarantee), rank(other.Guarantee)), cmp.Compare(s.Guarantee, other.Guarantee),
		cmp.Compare(s.Place, other.Place), cmp.Compare(s.Shape, other.Shape))
}

// completed is the guarantee of the run itself, which the oracle does not know.
const completed = "Completed"

// causes are the guarantees in the order in which the failure of one makes
// others fail: the process, the store, one stream, reads, then what joins
// several of these, and the end of the run.
var causes = append([]string{completed}, names(
	linearizability.Linearizable, linearizability.Revision, linearizability.Preconditions,
	linearizability.Isolated, linearizability.Ordered, linearizability.Unique, linearizability.Reliable,
	linearizability.Typed, linearizability.Faithful, linearizability.Scoped, linearizability.Initial,
	linearizability.InitialEnd, linearizability.Bookmarked, linearizability.Expired, linearizability.TooLarge,
	linearizability.LastError, linearizability.Closed,
	linearizability.ExactState, linearizability.MostRecent, linearizability.NotOlderThan, linearizability.Exact,
	linearizability.Any, linearizability.Paged,
	linearizability.Resumable, linearizability.Monotonic,
	linearizability.Unblocked, linearizability.Shared, linearizability.Released, linearizability.Refreshed,
	linearizability.Delivered, linearizability.Converged,
)...)

func names(guarantees ...*linearizability.Guarantee) []string {
	var all []string
	for _, guarantee := range guarantees {
		all = append(all, guarantee.Name)
	}
	return all
}

// rank is the place of a guarantee among the causes; the unknown come last.
func rank(guarantee string) int {
	if i := slices.Index(causes, guarantee); i >= 0 {
		return i
	}
	return len(causes)
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
	least = Signature{Guarantee: "unknown", Place: "run", Shape: normalise(result.Reason)}
	for i, violation := range result.Violations {
		if signature := signatureOf(violation); i == 0 || signature.compare(least) < 0 {
			least, witness = signature, violation
		}
	}
	return least, witness
}

// signatureOf is the signature of one violation. Its text begins with what it
// is about.
func signatureOf(violation scenario.Violation) Signature {
	text := strings.TrimPrefix(violation.Text, violation.Guarantee+": ")
	if violation.Guarantee == completed {
		return crash(text)
	}
	shape := normalise(text)
	place, rest, found := strings.Cut(shape, ": ")
	if !found || !slices.Contains(subjects, place) {
		place, rest = subject(shape), shape
	}
	if violation.Guarantee != linearizability.Typed.Name {
		rest = changes.ReplaceAllString(rest, "a change")
	}
	return Signature{Guarantee: violation.Guarantee, Place: place, Shape: withoutRepetition(rest)}
}

// changes are the types of events. Which of them was lost is chance, but for
// the guarantee that is about them.
var changes = regexp.MustCompile(`\b(ADDED|MODIFIED|DELETED)\b`)

// subjects are what texts begin with.
var subjects = []string{"stream", "list", "get", "create", "update", "delete", "the informer", "server", "etcd", "the writes"}

// subject is what a text is about, by its first words.
func subject(text string) string {
	for _, subject := range subjects {
		if strings.HasPrefix(text, subject+" ") {
			return strings.TrimPrefix(subject, "the ")
		}
	}
	return "run"
}

var (
	// died begins the text about a run that ended its process, or its worker.
	died = regexp.MustCompile(`^the run ended its process: (?:the worker of this run ended before it: )?seed \d+: (?:it panicked, with exit status \d+: |exit status \d+; )?`)
	// frame is a line of a stack that names a function.
	frame = regexp.MustCompile(`^(\S+)\(.*\)$`)
)

// crash is the signature of a run that did not complete: how it ended, and the
// function that panicked.
func crash(text string) Signature {
	text = died.ReplaceAllString(text, "")
	first, stack, _ := strings.Cut(text, "\n")
	return Signature{Guarantee: completed, Place: panicked(stack), Shape: normalise(first)}
}

// panicked is the innermost function of a stack that is not the runtime's.
func panicked(stack string) string {
	for line := range strings.Lines(stack) {
		match := frame.FindStringSubmatch(strings.TrimSpace(line))
		if match == nil {
			continue
		}
		if name := match[1]; name != "panic" && !strings.HasPrefix(name, "runtime.") {
			return name
		}
	}
	return "run"
}
