package linearizability_test

import (
	"slices"
	"time"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

const (
	anotherStart = "a correct server can have sent exactly this: a stream that ended may lack what was to come, and a block without a mark can begin at another RV"
	anotherQuery = "the request is the client's own, and what came also answers the edited one"
)

// tamperStream is an edit of each stream for which keep holds.
func tamperStream(edit, silence string, keep func(*model.Stream) bool, apply func(*model.Stream), harmless func(*model.Stream, *secondOpinion) bool) tampering {
	return at("stream", edit, silence, streams(keep), func(_ *model.History, s *model.Stream) { apply(s) }, harmless)
}

// breakStream is an edit of a stream that breaks a guarantee for certain.
func breakStream(edit string, find func(*model.History) []*model.Stream, apply func(*model.Stream), want *linearizability.Guarantee) tampering {
	return breaks("stream", edit, find, func(_ *model.History, s *model.Stream) { apply(s) }, want)
}

// streams finds the streams for which keep holds.
func streams(keep func(*model.Stream) bool) func(*model.History) []*model.Stream {
	return func(h *model.History) []*model.Stream { return where(h.Streams, keep) }
}

func opened(s *model.Stream) bool { return s.Err == model.OK }

// refuse makes a stream one that was refused.
func refuse(s *model.Stream, code model.Code) {
	s.Err, s.Closed, s.Reason, s.Events = code, s.Return, "", nil
}

func anyStream(*model.Stream) bool { return true }

var streamTamperings = []tampering{
	tamperStream("begin at a higher RV", anotherQuery, opened, func(s *model.Stream) { s.RV++ }, allowed),
	tamperStream("begin at a lower RV", anotherQuery, func(s *model.Stream) bool { return opened(s) && s.RV > 1 }, func(s *model.Stream) { s.RV-- }, allowed),
	tamperStream("begin without an RV", anotherQuery, opened, func(s *model.Stream) { s.RV = model.RVUnset }, allowed),
	tamperStream("ask for no bookmarks", anotherQuery, func(s *model.Stream) bool { return opened(s) && s.Bookmarks }, func(s *model.Stream) { s.Bookmarks = false }, allowed),
	tamperStream("ask for initial events, or not", anotherQuery, opened, func(s *model.Stream) { s.InitialEvents = !s.InitialEvents }, allowed),
	tamperStream("ask for one namespace", anotherQuery, opened, func(s *model.Stream) { s.Scope = model.Scope{Namespace: "a-b"} }, allowed),
	tamperStream("ask for everything", anotherQuery, func(s *model.Stream) bool { return opened(s) && s.Scope != model.Scope{} },
		func(s *model.Stream) { s.Scope = model.Scope{} }, allowed),
	tamperStream("ask for another label", anotherQuery, opened, func(s *model.Stream) { s.Selector = model.Selector{Labels: map[string]string{"app": "web"}} }, allowed),
	tamperStream("leave it open", anotherQuery, func(s *model.Stream) bool { return opened(s) && s.Closed != model.Pending },
		func(s *model.Stream) { s.Closed, s.Reason = model.Pending, "" }, allowed),
	tamperStream("end it by the server without a cause", "nothing shows that the cache went on, or the stream had fallen behind", opened,
		func(s *model.Stream) {
			s.Closed, s.Reason, s.Timeout = max(s.Return, s.Closed), model.ClosedByServer, 0
		}, always),
	tamperStream("refuse it as expired", "the cache may have dropped the RV from its window, or begun a new one; a block that is read from etcd may lose a race with a compaction",
		opened, func(s *model.Stream) { refuse(s, model.Expired) }, func(s *model.Stream, o *secondOpinion) bool {
			return s.RV > 0 && s.RV < o.h.Truth.Revision || s.RV <= 0 && o.told("", s.Call) < o.h.Truth.CompactedBy(s.Return)
		}),
	tamperStream("refuse it as too large", "the cache may not have reached the RV yet", opened, func(s *model.Stream) { refuse(s, model.TooLarge) },
		func(s *model.Stream, _ *secondOpinion) bool {
			return s.RV != 0
		}),
	tamperStream("refuse it as in conflict", "", opened, func(s *model.Stream) { refuse(s, model.Conflict) }, nil),
	tamperStream("refuse it as not found", "a server that does not serve the resource yet answers so", opened, func(s *model.Stream) { refuse(s, model.NotFound) }, always),
	tamperStream("refuse it as there already", "", opened, func(s *model.Stream) { refuse(s, model.AlreadyExists) }, nil),
	tamperStream("drop it", "nobody has to watch; but who resumed it did", anyStream, func(s *model.Stream) {
		*s = model.Stream{ID: s.ID, Client: s.Client, Server: s.Server,
			Call: s.Call, Return: model.Pending, Closed: s.Call, RV: s.RV}
	}, always),
	breaks("stream", "refuse it as expired, from etcd's last RV", streams(func(s *model.Stream) bool { return opened(s) && afterBlock(s) }),
		func(h *model.History, s *model.Stream) {
			s.RV = h.Truth.Revision
			refuse(s, model.Expired)
		}, linearizability.Expired),
	breakStream("refuse one of any state as too large", streams(func(s *model.Stream) bool { return opened(s) && s.RV == 0 }),
		func(s *model.Stream) { refuse(s, model.TooLarge) }, linearizability.TooLarge),
	breakStream("serve one that had to be refused", refusedBefore, func(s *model.Stream) {
		s.Err, s.Bookmarks, s.Reason = model.OK, true, model.ClosedByClient
		s.Events = []model.Event{{Stream: s.ID, Time: s.Closed, Type: model.Bookmark, RV: s.RV}}
	}, linearizability.Expired),
	breakStream("end it while an older one goes on", outlived, func(s *model.Stream) { s.Reason, s.Timeout = model.ClosedByServer, 0 }, linearizability.Closed),
	breakStream("fail it while an older one goes on", outlived, func(s *model.Stream) {
		s.Reason, s.Timeout = model.ClosedByError, 0
		s.Events = append(s.Events, model.Event{Stream: s.ID, Time: s.Closed, Type: model.Error, Err: model.Unknown, Message: "it failed"})
	}, linearizability.Closed),
	breaks("stream", "cut its connection without a fault", streams(func(s *model.Stream) bool { return s.Reason == model.ClosedByReset }),
		func(h *model.History, s *model.Stream) {
			h.Faults = slices.DeleteFunc(h.Faults, func(f model.Fault) bool {
				return f.Begin >= s.Call && f.Begin <= s.Closed && slices.Contains(f.Processes, s.Server)
			})
		}, linearizability.Closed),
	breaks("stream", "send it no bookmarks for two minutes", unrefreshed,
		func(h *model.History, _ *model.Stream) { h.End += 2 * time.Minute.Nanoseconds() }, linearizability.Refreshed),
}

// refusedBefore returns the refused streams that asked for no more than another refused one before.
func refusedBefore(h *model.History) []*model.Stream {
	expired := func(s *model.Stream) bool { return s.Err == model.Expired }
	return where(h.Streams, func(s *model.Stream) bool {
		return expired(s) && slices.ContainsFunc(where(h.Streams, expired), func(before *model.Stream) bool {
			return before.Server == s.Server && before.Return < s.Call && before.RV >= s.RV
		})
	})
}

// newestChange returns the RV of the last change that a stream brought, 0 if it
// brought none.
func newestChange(s *model.Stream) int64 {
	rv := int64(0)
	for event := range model.Each(s.Events) {
		if event.IsData() {
			rv = event.RV
		}
	}
	return rv
}

// outlived returns the streams that ended for a reason of their own, with next
// to nothing waiting for them, while an older stream of the server went on.
func outlived(h *model.History) []*model.Stream {
	store, opinion := model.NewStore(&h.Truth), &secondOpinion{h: h}
	return where(h.Streams, func(s *model.Stream) bool {
		if !opened(s) || !afterBlock(s) || (s.Reason != model.ClosedByClient && s.Timeout == 0) {
			return false
		}
		reached, newest := opinion.newest(s.Closed), newestChange(s)
		if newest <= opinion.newest(s.Return) || store.CountChanges(newest, reached) > 5 {
			return false
		}
		return len(where(h.Streams, func(other *model.Stream) bool {
			return opened(other) && afterBlock(other) && other.Server == s.Server && other.Return < s.Call && newestChange(other) > reached
		})) > 0
	})
}

// unrefreshed returns the open streams with bookmarks that have not learned of
// etcd's last revision, and that cannot have started from it: when they were
// open, etcd was first seen at a lower one.
func unrefreshed(h *model.History) []*model.Stream {
	firstSeen := map[int64]int64{}
	for _, census := range h.Censuses {
		if _, seen := firstSeen[census.Revision]; !seen {
			firstSeen[census.Revision] = census.Time
		}
	}
	return where(h.Streams, func(s *model.Stream) bool {
		return opened(s) && s.Bookmarks && s.Closed == model.Pending && s.RV < h.Truth.Revision &&
			!slices.ContainsFunc(s.Events, func(e model.Event) bool { return e.RV >= h.Truth.Revision }) &&
			slices.ContainsFunc(h.Censuses, func(census model.Census) bool {
				return census.Revision < h.Truth.Revision && firstSeen[census.Revision] >= s.Return
			})
	})
}

// continuing finds the streams that continue another one.
var continuing = streams(func(s *model.Stream) bool { return s.ResumesStream != 0 && opened(s) })

// resumed returns the stream that s continues.
func resumed(h *model.History, s *model.Stream) *model.Stream {
	return where(h.Streams, func(before *model.Stream) bool { return before.ID == s.ResumesStream })[0]
}

var resumptionTamperings = []tampering{
	breakStream("resume above the last RV seen", continuing, func(s *model.Stream) { s.RV++ }, linearizability.Resumable),
	breakStream("resume below the last RV seen", continuing, func(s *model.Stream) { s.RV-- }, linearizability.Resumable),
	breakStream("begin above the RV of the client's list", streams(func(s *model.Stream) bool { return s.ResumesList != 0 && opened(s) }),
		func(s *model.Stream) { s.RV++ }, linearizability.Resumable),
	breaks("stream", "drop what the client saw last before", func(h *model.History) []*model.Stream {
		// Where both begin at one RV, what came last was a bookmark at the start.
		return slices.DeleteFunc(continuing(h), func(s *model.Stream) bool { return resumed(h, s).RV == s.RV })
	}, func(h *model.History, s *model.Stream) {
		before := resumed(h, s)
		before.Events = slices.DeleteFunc(before.Events, func(e model.Event) bool { return e.RV == s.RV })
	}, linearizability.Resumable),
	breakStream("resume another query", continuing, func(s *model.Stream) { s.Selector = model.Selector{Labels: map[string]string{"app": "elsewhere"}} },
		linearizability.Resumable),
	breaks("stream", "resume one that was resumed before", func(h *model.History) []*model.Stream {
		return slices.DeleteFunc(continuing(h), func(s *model.Stream) bool { return resumed(h, s).ResumesStream == 0 })
	}, func(h *model.History, s *model.Stream) { s.ResumesStream = resumed(h, s).ResumesStream }, linearizability.Resumable),
	breakStream("no record of what an informer resumes", continuing, func(s *model.Stream) { s.ResumesStream = 0 }, linearizability.Resumable),
}
