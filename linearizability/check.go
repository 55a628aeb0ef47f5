package linearizability

import (
	"time"

	"github.com/watchsim/watchsim/model"
)

// Config sets the limits of a check.
type Config struct {
	// SearchTimeout is how long porcupine may search, in real time. A check that
	// runs into it is inconclusive. 0 means no limit.
	SearchTimeout time.Duration
	// SearchEvents and SearchChanges are how many events a stream, and how many
	// changes a history may have for its streams to be judged a second time, by
	// following the specification itself: see search.go. 0 events is none but
	// empty streams, and below 0 none at all.
	SearchEvents, SearchChanges int
	// DeliveryBound is how long, in simulated time, a server may take to deliver
	// the last change once faults have healed and writes have ended.
	DeliveryBound time.Duration
	// Window is the number of changes that a cache holds at least since it last
	// listed; 0 if that is not known, which makes Expired less sharp.
	Window int
	// Backlog is the number of changes that a server holds back at least for a
	// consumer that does not keep up, before it ends the stream; 0 if that is not
	// known, which makes Closed less sharp. A bookmark takes the place of a
	// change, and no stream gets two within BookmarkEvery, but for the one that
	// marks the end of the initial events and the one before a timeout.
	Backlog       int
	BookmarkEvery time.Duration
	// StreamTimeout is how long a stream lasts at least before a server ends it
	// for its age, where the client named no timeout.
	StreamTimeout time.Duration
	// RefreshBound is how long, in simulated time, a stream with bookmarks may know
	// nothing of a revision that etcd has reached.
	RefreshBound time.Duration
	// UnblockedBound is how long, in simulated time, the event of an acknowledged
	// write may take to a client that reads at once, while another does not read.
	UnblockedBound time.Duration
	// AnswerBound is how long, in simulated time, an answer or an event may take while
	// nothing is wrong.
	AnswerBound time.Duration
	// MaxShared is how many watches on etcd a server may hold for one resource,
	// however many clients watch.
	MaxShared int
	// ViolationsPerSource is how many violations of one guarantee are reported
	// for one stream or client; the rest is counted in Violation.More.
	ViolationsPerSource int
	// Minimum is what a history must hold lest it be vacuous.
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
		Window: 100,
		// The shortest channel of a cacheWatcher (minWatchChanSize), the cacher's
		// period (defaultBookmarkFrequency), and kube-apiserver's default of
		// --min-request-timeout.
		Backlog:             10,
		BookmarkEvery:       time.Minute,
		StreamTimeout:       30 * time.Minute,
		RefreshBound:        refreshBound,
		UnblockedBound:      unblockedBound,
		AnswerBound:         answerBound,
		MaxShared:           1,
		ViolationsPerSource: 3,
		Minimum:             Counts{Writes: 1, Events: 1},
	}
}

// Check judges a history by all Rules. It does not change it.
func Check(history *model.History, config Config) Verdict {
	f := newFacts(history, config)
	v := Verdict{Outcome: Passed, Counts: counted(history)}
	found := map[*pass]*findings{}
	run := func(p *pass) *findings {
		if found[p] == nil {
			found[p] = &findings{most: config.ViolationsPerSource}
			if f.ordered || p == revisions {
				p.judge(f, found[p])
			}
			v.Counts = v.Counts.plus(found[p].judged)
			v.Reasons = append(v.Reasons, found[p].reasons...)
			v.Observations = append(v.Observations, found[p].observations...)
			v.Margins = append(v.Margins, found[p].slowest...)
		}
		return found[p]
	}
	for i := range Rules {
		for _, violation := range run(Rules[i].pass).violations {
			if violation.Guarantee == Rules[i].Guarantee {
				v.Violations = append(v.Violations, violation)
			}
		}
	}
	run(crossChecks)
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

// heldBack is the number of changes that a server holds back at least for a watch. One
// that is still sending the past is cut off when its cache has forgotten the next change.
func (c Config) heldBack() int {
	if c.Window > 0 {
		return min(c.Backlog, c.Window)
	}
	return c.Backlog
}
