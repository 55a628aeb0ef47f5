package linearizability

import (
	"fmt"
	"slices"
	"time"
)

// findings are the result of a pass over the facts.
type findings struct {
	// most is how many violations of a guarantee are kept for each stream or client,
	// 0 for all.
	most         int
	violations   []Violation
	observations []Violation
	// reasons are why something could not be decided.
	reasons []Reason
	// judged counts what was judged; slowest is the longest that anything with a bound
	// took.
	judged  Counts
	slowest []Margin
	// sources are the violations of each source so far.
	sources map[source]reported
}

// source identifies what the number of violations is limited for.
type source struct {
	guarantee *Guarantee
	client    string
	stream    int
}

// reported counts a source's violations and has the index of the last one kept.
type reported struct{ count, last int }

// violate reports a violation, or counts it if its source has reached the limit.
func (o *findings) violate(guarantee *Guarantee, code *Code, witness Witness) {
	o.take(Violation{Guarantee: guarantee, Code: code, Witness: witness})
}

func (o *findings) take(v Violation) {
	from := source{guarantee: v.Guarantee, client: v.Witness.Client}
	if v.Witness.Stream != nil {
		from.stream = v.Witness.Stream.ID
	}
	r := o.sources[from]
	if o.most > 0 && r.count >= o.most {
		o.violations[r.last].More += 1 + v.More
	} else {
		r.last = len(o.violations)
		o.violations = append(o.violations, v)
	}
	r.count += 1 + v.More
	if o.sources == nil {
		o.sources = map[source]reported{}
	}
	o.sources[from] = r
}

// took records how long something took that a guarantee bounds.
func (o *findings) took(guarantee *Guarantee, took, bound int64) {
	i := slices.IndexFunc(o.slowest, func(m Margin) bool { return m.Guarantee == guarantee.Name })
	if i < 0 {
		i = len(o.slowest)
		o.slowest = append(o.slowest, Margin{Guarantee: guarantee.Name, Bound: time.Duration(bound)})
	}
	o.slowest[i].Slowest = max(o.slowest[i].Slowest, time.Duration(took))
}

// undecided records that something could not be decided.
func (o *findings) undecided(code ReasonCode, format string, arguments ...any) {
	o.reasons = append(o.reasons, Reason{code, "", fmt.Sprintf(format, arguments...)})
}

// add adds the findings of another pass.
func (o *findings) add(other *findings) {
	for _, v := range other.violations {
		o.take(v)
	}
	o.observations = append(o.observations, other.observations...)
	o.reasons = append(o.reasons, other.reasons...)
	o.judged = o.judged.plus(other.judged)
}
