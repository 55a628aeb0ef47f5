package linearizability

import (
	"slices"

	"github.com/watchsim/watchsim/model"
)

// facts are what a history says, worked out once. The rules read them, and nothing
// changes them.
type facts struct {
	history *model.History
	config  Config
	// quiet is when the last fault had healed and the last write had ended, settled
	// when whatever disturbed the run had been over for the delivery bound.
	quiet, settled int64
	// cached says that the servers have a watch cache, which all their streams share. A
	// server without one has its watches on etcd uncounted while it serves.
	cached bool
	// ordered says that the revisions of etcd's log increase. Without an order of
	// changes there is nothing to judge by, and none of the facts below is there.
	ordered bool

	store *model.Store
	// windows are what caches held.
	windows windows
	// claims say which change each write made, bounds what etcd's revision can have
	// been at a time.
	// calm says when nothing was wrong, and parties who is who among processes.
	claims  claims
	calm    calm
	parties parties
	bounds  bounds
	pages   pages
	// walks are the streams, each compared with what it was owed; witnesses what the
	// streams of a server show together, by server.
	walks     []*walk
	witnesses map[string]*evidence
	// refusals are what is wrong with the requests that were refused.
	refusals findings
}

// newFacts works out the facts of a history. Each line needs those above it.
func newFacts(history *model.History, config Config) *facts {
	f := &facts{history: history, config: config, quiet: quietSince(history)}
	f.cached = !slices.ContainsFunc(history.Censuses, func(c model.Census) bool {
		return c.Phase == model.Serving && c.EtcdWatches == model.Uncounted
	})
	f.settled = history.Healed + config.DeliveryBound.Nanoseconds()
	if f.ordered = inOrder(&history.Truth); !f.ordered {
		return f
	}
	f.store = model.NewStore(&history.Truth)
	f.windows = newWindows(history)
	f.claims = claimWrites(history, f.store, config.ViolationsPerSource)
	f.calm, f.parties = newCalm(history, config)
	f.bounds = newBounds(f.claims.writes, history)
	f.claims.complete(f.bounds)
	f.pages = newPages(history)
	f.walks = walkStreams(f)
	f.witnesses = gatherEvidence(f)
	f.refusals = judgeRefusals(f)
	return f
}
