package linearizability

import (
	"strings"
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
	// SharedMost is how many watches on etcd a server may hold for one resource,
	// however many clients watch.
	SharedMost int
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
		SharedMost:          1,
		ViolationsPerSource: 3,
		Minimum:             Counts{Writes: 1, Events: 1},
	}
}

// Check judges a history. It does not change it.
func Check(history *model.History, config Config) Verdict {
	c := &checker{history: history, config: config, reported: map[source]*report{}}
	c.count()
	c.quiet = c.quietSince()
	if c.checkRevision() {
		c.store = model.NewStore(&history.Truth)
		claims := c.claimWrites()
		c.bounds = newBounds(claims.writes, history.Truth.Revision)
		c.checkRegisters(claims)
		c.checkGets()
		c.checkLists()
		walks := c.checkStreams()
		c.gatherEvidence(walks)
		c.checkRefusals()
		c.crossCheck(walks)
		c.checkUnrefused(walks)
		c.checkClosed(walks)
		c.checkResumed(walks)
		c.checkMonotonic(walks)
		c.checkInformers()
		c.checkIsolated()
		c.checkRefreshed()
		c.checkUnblocked(claims.writes)
		c.checkShared()
		c.checkReleased()
	}
	return c.verdict()
}

// checker carries what the rules share.
type checker struct {
	history *model.History
	config  Config
	store   *model.Store
	bounds  bounds
	// evidence is by server.
	evidence   map[string]*evidence
	observed   []Observation
	counts     Counts
	violations []Violation
	reported   map[source]*report
	reasons    []string
	// quiet is when the last fault had healed and the last write had ended.
	quiet int64
	// selections are what streams are owed, by what they ask for; selected is how
	// many transitions they hold.
	selections map[string]*selection
	selected   int
	// arrived is the buffer that walks take turns in using.
	arrived []int
}

// source is what violations are limited by.
type source struct {
	guarantee *Guarantee
	client    string
	stream    int
}

// report counts a source's violations and knows the last one kept.
type report struct{ count, last int }

// violate reports a violation, or counts it if its source has had its share.
func (c *checker) violate(guarantee *Guarantee, witness Witness, text string) {
	from := source{guarantee: guarantee, client: witness.Client, stream: witness.Stream}
	r := c.reported[from]
	if r == nil {
		r = &report{}
		c.reported[from] = r
	}
	r.count++
	if limit := c.config.ViolationsPerSource; limit > 0 && r.count > limit {
		c.violations[r.last].More++
		return
	}
	r.last = len(c.violations)
	c.violations = append(c.violations, Violation{Guarantee: guarantee, Text: text, Witness: witness})
}

// undecided notes that a rule could not be decided.
func (c *checker) undecided(reason string) { c.reasons = append(c.reasons, reason) }

func (c *checker) verdict() Verdict {
	v := Verdict{Outcome: Passed, Violations: c.violations, Observations: c.observed, Counts: c.counts}
	reasons := c.reasons
	for _, short := range c.counts.below(c.config.Minimum) {
		reasons = append(reasons, "the history holds only "+short)
	}
	v.Reason = strings.Join(reasons, "; ")
	switch {
	case len(v.Violations) > 0:
		v.Outcome = Failed
	case len(reasons) > 0:
		v.Outcome = Inconclusive
	}
	return v
}

// count fills in what can be counted without judging.
func (c *checker) count() {
	h := c.history
	c.counts.Changes, c.counts.Compactions = len(h.Truth.Changes), len(h.Truth.Compactions)
	c.counts.Faults = len(h.Faults)
	c.countRelists()
	for i := range h.Operations {
		c.countOperation(&h.Operations[i])
	}
	for i := range h.Streams {
		s := &h.Streams[i]
		if s.Err != model.OK {
			continue
		}
		c.counts.Streams++
		if s.Closed != model.Pending {
			c.counts.Ended++
		}
		if s.ResumesStream != 0 || s.ResumesList != 0 {
			c.counts.Resumed++
		}
		for j := range s.Events {
			switch s.Events[j].Type {
			case model.Bookmark:
				c.counts.Bookmarks++
			case model.Added, model.Modified, model.Deleted:
				c.counts.Events++
			}
		}
	}
}

func (c *checker) countOperation(op *model.Operation) {
	switch {
	case isWrite(op) && unknown(op):
		c.counts.UnknownWrites++
	case isWrite(op) && op.Err == model.OK:
		c.counts.Writes++
	case isWrite(op):
		c.counts.FailedWrites++
	case unknown(op):
	case op.Kind == model.Get && (op.Err == model.OK || op.Err == model.NotFound):
		c.counts.Gets++
	case op.Kind == model.List && op.Err == model.OK:
		c.counts.Lists++
		if op.Continues != 0 {
			c.counts.Pages++
		}
	}
}

func isWrite(op *model.Operation) bool {
	return op.Kind == model.Create || op.Kind == model.Update || op.Kind == model.Delete
}

// unknown reports whether the client never learned what became of its request.
func unknown(op *model.Operation) bool {
	return op.Err == model.Unknown || op.Return == model.Pending
}

// keyOf returns the key that a write or get is about.
func keyOf(op *model.Operation) model.Key {
	if op.Object != nil {
		return op.Object.Key()
	}
	return model.Key{Namespace: op.Scope.Namespace, Name: op.Scope.Name}
}
