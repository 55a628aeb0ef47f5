package workload

import (
	"math/rand/v2"
	"time"

	"github.com/watchsim/watchsim/model"
)

// maxThink is how long a watcher waits between two streams.
const maxThink = 2 * time.Second

// watcher opens streams that start anywhere, one after the other, each with a
// scope, a selector and a pace of its own.
//
// A stalled watcher requests everything, stops reading every stream and abandons it soon.
type watcher struct {
	client
	consumer *consumer
	backoff  backoff
	stalls   bool
	// careless draws which streams scribble on what they get, one number each.
	careless  *rand.Rand
	scribbles *numbers // what careless reads from
}

// maxStalledStream is the longest a stalled watcher keeps a stream: long enough to be in the
// way, and short enough to be so again and again.
const maxStalledStream = 8 * time.Second

func (w *watcher) run() {
	if w.part != nil {
		w.takePart(w.alive, func(step Step) {
			w.scribbles.seek(step.Number - 1)
			w.watch(w.anyServer())
		})
		return
	}
	// Waiting after a failure and thinking are one sleep, as they are for a part: it
	// knows only when its step begins, and must wake no goroutine more often or less.
	var wait time.Duration
	for number := 1; ; number++ {
		wait += drawDuration(w.random, maxThink)
		if !w.begin(w.alive, number, time.Since(w.began)+wait) {
			return
		}
		if wait = 0; w.watch(w.anyServer()) {
			w.backoff.succeed()
		} else {
			wait = w.backoff.next(w.random)
		}
	}
}

// watch opens one stream and reads it to its end. It returns whether the
// stream could be opened.
func (w *watcher) watch(server *session) bool {
	request, pace, length := w.drawRequest(server), drawPace(w.random, true), time.Duration(0)
	// A quarter of the streams are kept for as long as they last.
	if !oneIn(w.random, 4) {
		length = drawDuration(w.random, w.catalog.config.MaxStream)
	}
	if w.stalls {
		request.Scope, request.Selector = model.Scope{}, model.Selector{}
		pace, length = drawStalledPace(w.random), drawDuration(w.random, maxStalledStream)
	}
	request.Mutates = oneIn(w.careless, 3)
	request.Consumer = w.consumer.begin(pace)
	stream := server.watch(w.alive, &request, w.consumer)
	if stream == nil {
		return false
	}
	release := stream.stopAfter(length)
	defer release()
	for {
		event, _, ok := stream.Next()
		if !ok {
			return true
		}
		w.knowledge.seeRV(event.RV)
	}
}

// drawRequest draws where a stream starts and what it asks for.
func (w *watcher) drawRequest(server *session) model.Stream {
	request := model.Stream{
		Scope: w.catalog.scope(w.random), Selector: w.catalog.selector(w.random),
		RV: model.RVUnset, Bookmarks: oneIn(w.random, 2),
	}
	switch choice := w.random.IntN(16); {
	case choice < 2:
	case choice < 5:
		request.RV = 0
	case choice < 8:
		request.RV = w.knownRV(server, w.knowledge.recent)
	case choice < 11:
		request.RV = w.knownRV(server, w.knowledge.old)
	case choice < 12:
		request.RV = w.knownRV(server, w.knowledge.future)
	default:
		request.InitialEvents, request.Bookmarks = !w.catalog.config.PlainLists, true
		switch w.random.IntN(4) {
		case 0:
			request.RV = 0
		case 1:
			request.RV = w.knownRV(server, w.knowledge.recent)
		}
	}
	return request
}

// knownRV draws an RV from what the watcher has seen, listing first if it has
// seen none yet.
func (w *watcher) knownRV(server *session, draw func(*rand.Rand) int64) int64 {
	if w.knowledge.newest() == 0 {
		w.do(server, &model.Operation{Kind: model.List}, "")
	}
	return draw(w.random)
}
