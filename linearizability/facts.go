package linearizability

import (
	"slices"

	"github.com/watchsim/watchsim/model"
)

// facts are derived once from a history. The rules read them, and nothing changes
// them.
type facts struct {
	history *model.History
	config  Config
	// quiet is when the last fault had healed and the last write had ended, settled
	// when the delivery bound had passed since the last fault healed.
	quiet, settled int64
	// cached says that the servers have a watch cache, which all their streams share. The
	// watches on etcd of a server without one are not counted while it serves.
	cached bool
	// ordered says that the revisions of etcd's log increase. If they do not, nothing
	// can be judged, and the facts below are not set.
	ordered bool

	store *model.Store
	// claims say which change each write made, bounds what etcd's revision can have
	// been at a time.
	// calm says when nothing was wrong, parties which processes are clients or servers.
	claims  claims
	calm    calm
	parties parties
	bounds  bounds
	pages   pages
	// walks are the streams, each compared with the events it was owed; witnesses are
	// what the streams of a server prove together, by server.
	walks     []*walk
	witnesses map[string]*evidence
	// refusals are the findings about refused requests.
	refusals findings
}

// newFacts derives the facts of a history. Each line needs those above it.
func newFacts(history *model.History, config Config) *facts {
	f := &facts{history: history, config: config, quiet: quietSince(history)}
	f.cached = !slices.ContainsFunc(history.Censuses, func(c model.Census) bool {
		return c.Phase == model.Serving && c.EtcdWatches == model.Uncounted
	})
	f.settled = history.Healed + config.DeliveryBound.Nanoseconds()
	if f.ordered = history.Truth.InOrder(); !f.ordered {
		return f
	}
	f.store = model.NewStore(&history.Truth)
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
