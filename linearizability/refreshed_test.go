package linearizability_test

import (
	"testing"
	"time"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

const second = int64(time.Second)

// quietHistory returns a history of one stream over shortTruth, whose last change is
// at RV 15 and whose last revision is 20, for the rules that apply after the run has
// settled, 5 s after healing at 1 s. Times are in seconds.
func quietHistory(stream model.Stream, end int64, events ...model.Event) *model.History {
	h := closedStream(stream, events...)
	s := &h.Streams[0]
	s.Call, s.Return, s.Closed = 2*second, 2*second, model.Pending
	if stream.Closed != 0 {
		s.Closed = stream.Closed
	}
	h.Healed, h.End = second, end*second
	return h
}

// received returns an event that arrived at a time in seconds.
func received(at int64, e model.Event) model.Event { return came(at*second, e) }

func census(at, revision int64) model.Census {
	return model.Census{Time: at * second, Phase: model.Serving, Server: "s1", Revision: revision}
}

func TestIdleStreamsAreRefreshed(t *testing.T) {
	// The stream starts at RV 15, and etcd goes on to 20 at 10 s: due at 85 s.
	request := model.Stream{RV: 15, Bookmarks: true, Consumer: "fast"}
	progress := []model.Census{census(2, 15), census(10, 20)}
	broken := guarantees{linearizability.Refreshed}
	history := func(stream model.Stream, censuses []model.Census, end int64, events ...model.Event) *model.History {
		h := quietHistory(stream, end, events...)
		h.Censuses = censuses
		h.Truth.Revision = 21
		return h
	}
	judgeCounted(t, func(c linearizability.Counts) int { return c.Refreshed }, []countedRow{
		{"a bookmark in time", history(request, progress, 100, received(70, bookmark(20))), 1, nil},
		{"at the last moment", history(request, progress, 100, received(85, bookmark(20))), 1, nil},
		{"one for each step", history(request, append(progress, census(60, 21)), 140, received(70, bookmark(20)), received(130, bookmark(21))), 1, nil},

		// These must not be false positives.
		{"the run ended first", history(request, progress, 84), 0, nil},
		{"the stream ended first", history(changed(request, func(s *model.Stream) { s.Closed = 84 * second }), progress, 100), 0, nil},
		{"bookmarks not requested", history(changed(request, func(s *model.Stream) { s.Bookmarks = false }), progress, 100), 0, nil},
		{"a stalled consumer", history(changed(request, func(s *model.Stream) { s.Consumer = "stalled" }), progress, 100), 0, nil},
		{"a slow consumer", history(changed(request, func(s *model.Stream) { s.Consumer = "slow" }), progress, 100), 0, nil},
		{"no progress of etcd", history(request, []model.Census{census(2, 20), census(10, 20)}, 200), 0, nil},
		{"the stream began at that RV", history(request, []model.Census{census(1, 15), census(3, 20)}, 200), 0, nil},
		{"the stream is from a future RV", history(changed(request, func(s *model.Stream) { s.RV = 20 }), progress, 100), 0, nil},
		{"no census", history(request, nil, 200), 0, nil},
		{"samples out of order", history(request, []model.Census{census(10, 20), census(2, 15)}, 100, received(70, bookmark(20))), 1, nil},
		{"an old bookmark first", history(request, progress, 100, received(60, bookmark(18)), received(80, bookmark(20))), 1, nil},
		{"events instead of bookmarks", history(changed(request, func(s *model.Stream) { s.RV = 12 }), []model.Census{census(2, 12), census(10, 15)}, 100, received(10, modified(15))), 0,
			nil},
		// The period starts again when the run has settled, at 6 s.
		{"slow to settle", history(changed(request, func(s *model.Stream) { s.RV = 9 }), []model.Census{census(2, 15), census(3, 20)}, 100, received(4, deleted(12)), received(5, modified(15)), received(81, bookmark(20))), 1,
			nil},

		{"no cache", history(request, append(progress, model.Census{Phase: model.Serving, Server: "s1", EtcdWatches: model.Uncounted}), 100), 0, nil},
		{"no bookmark", history(request, progress, 85), 1, broken},
		{"too late", history(request, progress, 100, received(86, bookmark(20))), 1, broken},
		{"an old bookmark alone", history(request, progress, 100, received(70, bookmark(18))), 1, broken},
		{"only the first", history(request, append(progress, census(60, 21)), 135, received(70, bookmark(20))), 1, broken},
		{"no event either", history(changed(request, func(s *model.Stream) { s.RV = 12 }), []model.Census{census(2, 12), census(10, 15)}, 85), 1,
			guarantees{linearizability.Refreshed, linearizability.Delivered}},
	})
}
