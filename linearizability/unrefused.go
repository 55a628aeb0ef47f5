package linearizability

import "github.com/watchsim/watchsim/model"

// The faults, by the names that histories give them, after which an API server
// begins with an empty cache.
const (
	serverRestart = "apiserver-restart"
	serverCrash   = "apiserver-crash"
)

// judgeAnswers judges Expired and TooLarge: the requests that were refused, and
// those that were answered but had to be refused. What comes of the latter is often
// reported as well: a gap of the stream, or a list that is older than was asked for.
func judgeAnswers(f *facts, out *findings) {
	out.add(&f.refusals)
	restarts := f.restarts()
	for _, w := range f.walks {
		s := w.stream
		if s.Err != model.OK || s.Refusal() != model.OK || len(s.Events) == 0 {
			continue
		}
		if !s.Watch().HasBlock() && !f.cached {
			continue // etcd refuses what it has compacted, and there is no window besides
		}
		if !s.Watch().HasBlock() {
			w.judgeNotExpired(restarts[s.Server], out)
		} else if latest := f.bounds.maxRV(s.Events[0].Time); s.RV > latest {
			// A watch without initial events may start in the future: it just waits.
			out.violate(TooLarge, servedFuture, w.at(0, s.RV).want(latest))
		}
	}
	for op := range model.Each(f.history.Operations) {
		if (op.Kind != model.Get && op.Kind != model.List) || op.Lost() || (op.Err != model.OK && op.Err != model.NotFound) {
			continue
		}
		if latest := f.bounds.maxRV(op.Return); op.RV > latest {
			out.violate(TooLarge, servedFuture, about(op, op.RV).want(latest))
		}
	}
}

// restarts returns, by server, below which RV its cache held nothing from which
// time on: a new cache holds nothing below what it lists first, and that is what
// etcd had when the old one stopped, or more.
func (f *facts) restarts() map[string]model.Staircase {
	restarts := map[string]model.Staircase{}
	for fault := range model.Each(f.history.Faults) {
		if fault.Name != serverRestart && fault.Name != serverCrash {
			continue
		}
		if rv, _ := f.bounds.minRV(fault.Begin); rv > 0 {
			for _, server := range fault.Processes {
				restarts[server] = append(restarts[server], model.Moment{Time: fault.End, RV: rv})
			}
		}
	}
	for server := range restarts {
		restarts[server] = model.NewStaircase(restarts[server])
	}
	return restarts
}

// judgeNotExpired judges a watch that was served from its RV. It is certain that
// the RV was no longer held if the server had answered so before, as what a cache
// has dropped does not come back; or if the server has been restarted since. Where
// neither is known the rule is silent: how far back a cache reaches is its own
// affair, and what it did not reach is then a gap.
func (w *walk) judgeNotExpired(restarts model.Staircase, out *findings) {
	s := w.stream
	if refused, ok := w.facts.witnesses[s.Server].expired.Before(s.Call); ok && s.RV <= refused.RV {
		out.violate(Expired, servedRefused, w.at(0, s.RV, refused.RV).proof(refused.Stream, nil))
		return
	}
	if restarted, ok := restarts.Before(s.Call); ok && s.RV < restarted.RV {
		out.violate(Expired, servedOverRestart, w.at(0, s.RV, restarted.RV).want(restarted.RV).at(restarted.Time))
	}
}
