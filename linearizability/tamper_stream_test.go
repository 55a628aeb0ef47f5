package linearizability_test

import (
	"github.com/watchsim/watchsim/model"
)

const (
	anotherStart = "a correct server can have sent exactly this: a stream that ended may lack what was to come, and a block without a mark can begin at another RV"
	anotherQuery = "the request is the client's own, and what came also answers the edited one"
)

// allowed is harmless where the second opinion has nothing against the stream.
func allowed(s *model.Stream) func(*secondOpinion) bool {
	return func(o *secondOpinion) bool { request := *s; return s.Err != model.OK || o.allows(&request) }
}

// tamperEvents is an edit of each event for which keep holds.
func tamperEvents(edit, silence string, keep func(place) bool, apply func(place)) tampering {
	return tampering{"event", edit, func(h *model.History) []tampered {
		var all []tampered
		for _, s := range streams(h, opened) {
			for i := range s.Events {
				if p := (place{s, i}); keep(p) {
					all = append(all, tampered{func() { apply(p) }, allowed(s)})
				}
			}
		}
		return all
	}, silence}
}

func tamperObject(edit string, change func(*model.Object)) tampering {
	return tamperEvents(edit, "", func(p place) bool { return isChange(p.event()) }, func(p place) { change(p.own()) })
}

func anyEvent(place) bool { return true }

func isBookmark(p place) bool { return p.event().Type == model.Bookmark }

func sendAs(kind model.EventType) tampering {
	return tamperEvents("send as "+string(kind), "", func(p place) bool { return isChange(p.event()) && p.event().Type != kind },
		func(p place) { p.event().Type = kind })
}

var eventTamperings = []tampering{
	tamperEvents("drop it", anotherStart, anyEvent, remove),
	tamperEvents("send it twice", "a bookmark may repeat what the one before it said", anyEvent, func(p place) { insert(p, *p.event()) }),
	tamperEvents("swap it with the next", anotherStart, func(p place) bool { return p.index+1 < len(p.stream.Events) }, func(p place) {
		a, b := p.event(), &p.stream.Events[p.index+1]
		*a, *b = *b, *a
	}),
	tamperEvents("drop all after it", anotherStart, anyEvent, func(p place) { p.stream.Events = p.stream.Events[:p.index+1] }),
	tamperEvents("drop all before it", anotherStart, func(p place) bool { return p.index > 0 }, func(p place) { p.stream.Events = p.stream.Events[p.index:] }),
	sendAs(model.Added), sendAs(model.Modified), sendAs(model.Deleted),
	tamperObject("another value", func(o *model.Object) { o.Value = "another" }),
	tamperObject("another UID", func(o *model.Object) { o.UID = "another" }),
	tamperObject("another node", func(o *model.Object) { o.Node += "-another" }),
	tamperObject("another label", relabel),
	tamperObject("another name", func(o *model.Object) { o.Name += "-another" }),
	tamperObject("another namespace", func(o *model.Object) { o.Namespace += "-another" }),
	tamperObject("an object at another RV than the event", func(o *model.Object) { o.RV-- }),
	tamperEvents("an RV too high", anotherStart, anyEvent, func(p place) { shiftRV(p, 1) }),
	tamperEvents("an RV too low", "a bookmark may be older than the server's newest RV; an error has no RV", anyEvent, func(p place) { shiftRV(p, -1) }),
	tamperEvents("a bookmark far in the future", "", isBookmark, func(p place) { p.event().RV += 1000 }),
	tamperEvents("a bookmark without an RV", "", isBookmark, func(p place) { p.event().RV = 0 }),
	tamperEvents("mark the end of the initial events, or take the mark away", "a stream that ended at once may lack the mark", isBookmark,
		func(p place) { p.event().InitialEnd = !p.event().InitialEnd }),
	tamperEvents("send it before its write was called", "events may come at any time at which their RV can have been committed", anyEvent,
		func(p place) { p.event().Time = p.stream.Call }),
	tamperEvents("an error instead of it", anotherStart, func(p place) bool { return isChange(p.event()) }, func(p place) {
		p.stream.Events[p.index] = model.Event{Stream: p.stream.ID, Time: p.event().Time, Type: model.Error, Err: model.Unknown, Message: "it failed"}
	}),
}

func shiftRV(p place, by int64) {
	if p.event().RV += by; p.event().Object != nil {
		p.own().RV += by
	}
}

// tamperStream is an edit of each stream for which keep holds.
func tamperStream(edit, silence string, keep func(*model.Stream) bool, apply func(*model.Stream), harmless func(*model.Stream, *secondOpinion) bool) tampering {
	return tampering{"stream", edit, func(h *model.History) []tampered {
		var all []tampered
		for _, s := range streams(h, keep) {
			all = append(all, tampered{func() { apply(s) }, func(o *secondOpinion) bool { return harmless(s, o) }})
		}
		return all
	}, silence}
}

func byOpinion(s *model.Stream, o *secondOpinion) bool { return allowed(s)(o) }

func never(*model.Stream, *secondOpinion) bool { return false }

func whatever(*model.Stream, *secondOpinion) bool { return true }

func anyStream(*model.Stream) bool { return true }

var streamTamperings = []tampering{
	tamperStream("begin at a higher RV", anotherQuery, opened, func(s *model.Stream) { s.RV++ }, byOpinion),
	tamperStream("begin at a lower RV", anotherQuery, func(s *model.Stream) bool { return opened(s) && s.RV > 1 }, func(s *model.Stream) { s.RV-- }, byOpinion),
	tamperStream("begin without an RV", anotherQuery, opened, func(s *model.Stream) { s.RV = model.RVUnset }, byOpinion),
	tamperStream("ask for no bookmarks", anotherQuery, func(s *model.Stream) bool { return opened(s) && s.Bookmarks }, func(s *model.Stream) { s.Bookmarks = false }, byOpinion),
	tamperStream("ask for initial events, or not", anotherQuery, opened, func(s *model.Stream) { s.InitialEvents = !s.InitialEvents }, byOpinion),
	tamperStream("ask for one namespace", anotherQuery, opened, func(s *model.Stream) { s.Scope = model.Scope{Namespace: "a-b"} }, byOpinion),
	tamperStream("ask for everything", anotherQuery, func(s *model.Stream) bool { return opened(s) && s.Scope != model.Scope{} },
		func(s *model.Stream) { s.Scope = model.Scope{} }, byOpinion),
	tamperStream("ask for another label", anotherQuery, opened, func(s *model.Stream) { s.Selector = model.Selector{Labels: map[string]string{"app": "web"}} }, byOpinion),
	tamperStream("leave it open", anotherQuery, func(s *model.Stream) bool { return opened(s) && s.Closed != model.Pending },
		func(s *model.Stream) { s.Closed, s.Reason = model.Pending, "" }, byOpinion),
	tamperStream("end it by the server without a cause", "nothing shows that the cache went on, or the stream had fallen behind", opened,
		func(s *model.Stream) {
			s.Closed, s.Reason, s.Timeout = max(s.Return, s.Closed), model.ClosedByServer, 0
		}, whatever),
	tamperStream("refuse it as expired", "the cache may have dropped the RV from its window, or begun a new one; a block that is read from etcd may lose a race with a compaction",
		opened, func(s *model.Stream) { refuse(s, model.Expired) }, func(s *model.Stream, o *secondOpinion) bool {
			return s.RV > 0 && s.RV < o.h.Truth.Revision || s.RV <= 0 && o.told("", s.Call) < o.h.Truth.CompactedBy(s.Return)
		}),
	tamperStream("refuse it as too large", "the cache may not have reached the RV yet", opened, func(s *model.Stream) { refuse(s, model.TooLarge) },
		func(s *model.Stream, _ *secondOpinion) bool {
			return s.RV != 0
		}),
	tamperStream("refuse it as in conflict", "", opened, func(s *model.Stream) { refuse(s, model.Conflict) }, never),
	tamperStream("refuse it as not found", "a server that does not serve the resource yet answers so", opened, func(s *model.Stream) { refuse(s, model.NotFound) }, whatever),
	tamperStream("refuse it as there already", "", opened, func(s *model.Stream) { refuse(s, model.AlreadyExists) }, never),
	tamperStream("drop it", "nobody has to watch; but who resumed it did", anyStream, func(s *model.Stream) {
		*s = model.Stream{ID: s.ID, Client: s.Client, Server: s.Server,
			Call: s.Call, Return: model.Pending, Closed: s.Call, RV: s.RV}
	}, whatever),
}
