package workload

import (
	"time"

	"github.com/watchsim/watchsim/model"
)

// reflector follows the list-watch protocol of client-go's Reflector: it lists, watches
// from the list's RV with bookmarks, resumes from the last RV it saw when a stream
// ends, and relists when that RV has expired. It may instead begin with a streaming
// list (sendInitialEvents).
type reflector struct {
	client
	consumer *consumer
	pace     pace
	backoff  backoff

	server *session
	// roams says whether it may switch servers after a failure, as behind a load
	// balancer. Only one that does not may expect never to go back in time.
	roams bool
	// streams says whether it begins with a streaming list.
	streams  bool
	scope    model.Scope
	selector model.Selector
	limit    int64

	// rv is the last RV seen, 0 before the first list. unavailable says whether the
	// server could not serve a list at rv, so that the next list must be the most
	// recent.
	rv          int64
	unavailable bool
	// lastList and lastStream are the IDs of what the next stream continues.
	lastList, lastStream int
}

// drawHabits draws what stays the same for a reflector's lifetime.
func (f *reflector) drawHabits() {
	f.pace = drawPace(f.random, false)
	f.server = f.anyServer()
	f.roams = oneIn(f.random, 4)
	f.streams = oneIn(f.random, 3) && !f.catalog.config.PlainLists
	f.scope = f.catalog.scope(f.random)
	f.selector = f.catalog.selector(f.random)
	if oneIn(f.random, 3) {
		f.limit = 1 + f.random.Int64N(f.catalog.config.MaxPageLimit)
	}
}

func (f *reflector) run() {
	for f.alive.Err() == nil {
		var ok bool
		if f.streams {
			ok = f.streamList()
		} else {
			ok = f.listAll()
		}
		for ok {
			ok = f.resume()
		}
		if !f.fail() {
			return
		}
	}
}

// fail backs off, and may switch servers. It returns false when the run is over.
func (f *reflector) fail() bool {
	if f.roams {
		f.server = f.anyServer()
	}
	return f.backoff.fail(f.alive, f.random)
}

// listAll reads the whole list, so that a watch can start from its RV.
func (f *reflector) listAll() bool {
	request := &model.Operation{Kind: model.List, Scope: f.scope, Selector: f.selector, RV: f.rv, Limit: f.limit}
	switch {
	case f.unavailable:
		request.RV = model.RVUnset
	case f.rv > 0:
		// To avoid going back in time the RV must be at least the last one seen. With a
		// limit, the match must be explicit, because the default is then Exact.
		request.Match = model.MatchNotOlderThan
	}
	last, _ := f.list(f.server, request, func() *session {
		if f.alive.Err() != nil {
			return nil
		}
		return f.server
	})
	switch last.Err {
	case model.OK:
		if last.HasMore {
			return false
		}
		f.rv, f.unavailable = last.ResultRV, false
		f.lastList, f.lastStream = last.ID, 0
		return true
	case model.Expired, model.TooLarge:
		f.unavailable = true
	}
	return false
}

// streamList opens a stream that delivers the initial state first and continues as a
// watch.
func (f *reflector) streamList() bool {
	request := model.Stream{RV: f.rv, Bookmarks: true, InitialEvents: true}
	if f.rv == 0 || f.unavailable {
		request.RV = model.RVUnset
	}
	f.lastList, f.lastStream = 0, 0
	return f.watch(request)
}

// resume watches from the last RV seen. It returns false when a relist is needed.
func (f *reflector) resume() bool {
	return f.watch(model.Stream{RV: f.rv, Bookmarks: true})
}

// watch opens a stream and reads it to its end. It returns whether the next stream can
// resume from this one; if this one failed, it backs off first.
func (f *reflector) watch(request model.Stream) (resumable bool) {
	initial := request.InitialEvents
	request.Scope, request.Selector = f.scope, f.selector
	if request.ResumesStream = f.lastStream; f.lastStream == 0 {
		request.ResumesList = f.lastList
	}
	request.Consumer = f.consumer.begin(f.pace)
	// The client ends some streams itself, as a server's timeout would.
	length := f.drawLength()
	request.Timeout = f.drawTimeout(length)
	stream := f.server.watch(f.alive, &request, f.consumer)
	if stream == nil {
		switch request.Err {
		case model.Expired, model.TooLarge:
			f.unavailable = f.unavailable || initial
			return false
		}
		return !initial && f.fail()
	}
	release := stream.stopAfter(length)
	defer release()

	syncing := initial // the initial state is incomplete
	expired := false   // an ERROR event said that the RV has expired
	for {
		event, reason, ok := stream.Next()
		switch {
		case !ok:
			return f.ended(reason, syncing, expired)
		case event.Type == model.Error:
			expired = event.Err == model.Expired || event.Err == model.TooLarge
		case syncing && !event.InitialEnd:
			// Synthetic events carry the RVs of objects, not the RV of the stream.
		default:
			syncing = false
			f.rv, f.lastStream, f.unavailable = event.RV, request.ID, false
			f.backoff.succeed()
		}
	}
}

// ended decides how to continue after the end of a stream, and returns whether the next
// stream can resume.
func (f *reflector) ended(reason model.CloseReason, syncing, expired bool) (resumable bool) {
	switch {
	case syncing:
		f.unavailable = f.unavailable || expired
		return false
	case expired:
		return false
	case reason == model.ClosedByServer || reason == model.ClosedByClient:
		// An orderly end needs no backoff, but the pause avoids a tight loop if a
		// server ends every stream at once.
		return sleep(f.alive, firstBackoff)
	default:
		return f.fail()
	}
}

// drawLength draws how long to keep a stream, 0 for as long as it lasts.
func (f *reflector) drawLength() time.Duration {
	if oneIn(f.random, 2) {
		return 0
	}
	return drawDuration(f.random, maxStream)
}
