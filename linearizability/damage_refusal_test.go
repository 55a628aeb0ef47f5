package linearizability_test

import (
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// streams returns the streams for which keep holds.
func streams(h *model.History, keep func(*model.Stream) bool) []*model.Stream {
	var kept []*model.Stream
	for i := range h.Streams {
		if keep(&h.Streams[i]) {
			kept = append(kept, &h.Streams[i])
		}
	}
	return kept
}

func opened(s *model.Stream) bool { return s.Err == model.OK }

// refuse makes a stream one that was refused.
func refuse(s *model.Stream, code model.Code) {
	s.Err, s.Closed, s.Reason, s.Events = code, s.Return, "", nil
}

var refusalDamages = []damage{
	{"refuse a watch with 410 from what is held", func(c chooser, h *model.History) guarantees {
		s, ok := pick(c, streams(h, func(s *model.Stream) bool { return opened(s) && afterBlock(s) }))
		if !ok {
			return nil
		}
		s.RV = h.Truth.Revision
		refuse(s, model.Expired)
		return guarantees{linearizability.Expired}
	}},
	{"refuse a list with 410 of what is held", func(c chooser, h *model.History) guarantees {
		op, ok := pick(c, operations(h, func(op *model.Operation) bool {
			return op.Kind == model.List && op.Match == model.MatchExact && op.Err == model.OK && op.RV >= h.Truth.CompactedBy(op.Return)
		}))
		if !ok {
			return nil
		}
		op.Err, op.ResultRV, op.Objects, op.HasMore = model.Expired, 0, nil, false
		return guarantees{linearizability.Expired}
	}},
	onStreams("refuse a watch of any state as too large", func(s *model.Stream) bool { return opened(s) && s.RV == 0 },
		func(s *model.Stream) { refuse(s, model.TooLarge) }, linearizability.TooLarge),
	onOperation("refuse a get as too large that is not", func(op *model.Operation) bool { return op.Kind == model.Get && op.RV == 0 },
		func(op *model.Operation) { op.Err, op.ResultRV, op.Objects = model.TooLarge, 0, nil }, linearizability.TooLarge),
	{"serve a watch that had to be refused", func(c chooser, h *model.History) guarantees {
		expired := streams(h, func(s *model.Stream) bool { return s.Err == model.Expired })
		var places []*model.Stream
		for _, s := range expired {
			for _, before := range expired {
				if before.Server == s.Server && before.Return < s.Call && before.RV >= s.RV {
					places = append(places, s)
				}
			}
		}
		s, ok := pick(c, places)
		if !ok {
			return nil
		}
		s.Err, s.Bookmarks, s.Reason = model.OK, true, model.ClosedByClient
		s.Events = []model.Event{{Stream: s.ID, Time: s.Closed, Type: model.Bookmark, RV: s.RV}}
		return guarantees{linearizability.Expired}
	}},
	{"answer a get from the future", func(c chooser, h *model.History) guarantees {
		op, ok := pick(c, operations(h, func(op *model.Operation) bool {
			return op.Kind == model.Get && op.RV != model.RVUnset && (op.Err == model.OK || op.Err == model.NotFound)
		}))
		if !ok {
			return nil
		}
		op.RV = h.Truth.Revision + 3
		return guarantees{linearizability.TooLarge}
	}},
}
