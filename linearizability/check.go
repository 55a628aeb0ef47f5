package linearizability

import (
	"slices"
	"time"

	"github.com/watchsim/watchsim/model"
)

// Config sets the limits of a check.
type Config struct {
	// SearchTimeout is how long porcupine may search, in real time. A check that
	// exceeds it is inconclusive. 0 means no limit.
	SearchTimeout time.Duration
	// SearchEvents and SearchChanges are the most events of a stream, and the most
	// changes of a history, with which streams are checked a second time against
	// the specification itself: see search.go. With SearchEvents 0 only empty
	// streams are, below 0 none.
	SearchEvents, SearchChanges int
	// DeliveryBound is how long, in simulated time, a server may take to deliver
	// the last change after faults have healed and writes have ended.
	DeliveryBound time.Duration
	// Window is the minimum number of changes that a cache holds since it last
	// listed; 0 if unknown, which makes Expired less strict.
	Window int
	// RefreshBound is how long, in simulated time, a stream with bookmarks may take
	// to learn of a revision that etcd has reached.
	RefreshBound time.Duration
	// ViolationsPerSource is how many violations of one guarantee are reported
	// for one stream or client; the others are counted in Violation.More.
	ViolationsPerSource int
	// Minimum is what a history must contain for its verdict to be conclusive.
	Minimum Counts
}

// DefaultConfig returns the limits for Kubernetes' watch cache.
func DefaultConfig() Config {
	return Config{
		SearchTimeout: 10 * time.Second,
		SearchEvents:  100,
		SearchChanges: 500,
		DeliveryBound: 5 * time.Second,
		// The cacher's event buffer never shrinks below 100 events
		// (defaultLowerBoundCapacity).
		Window:              100,
		RefreshBound:        refreshBound,
		ViolationsPerSource: 3,
		Minimum:             Counts{Writes: 1, Events: 1},
	}
}

// Check judges a history by all Guarantees. It does not change it.
func Check(history *model.History, config Config) Verdict {
	f := newFacts(history, config)
	out := findings{most: config.ViolationsPerSource}
	judgeRevisions(f, &out)
	if f.ordered {
		for _, judge := range passes {
			judge(f, &out)
		}
	}
	slices.SortStableFunc(out.violations, func(a, b Violation) int { return Rank(a.Guarantee.Name) - Rank(b.Guarantee.Name) })
	v := Verdict{Outcome: Passed, Counts: counted(history).plus(out.judged), Violations: out.violations,
		Observations: out.observations, Margins: out.slowest, Reasons: out.reasons}
	v.Reasons = append(v.Reasons, v.Counts.below(config.Minimum)...)
	v.Reason = Joined(v.Reasons)
	switch {
	case len(v.Violations) > 0:
		v.Outcome = Failed
	case len(v.Reasons) > 0:
		v.Outcome = Inconclusive
	}
	return v
}
