package workload

import (
	"math/rand/v2"
	"time"

	"github.com/watchsim/watchsim/model"
)

// maxThink is how long a watcher waits between two streams.
const maxThink = 2 * time.Second

// watcher opens streams that start anywhere, one after another, each with its own
// scope, selector and pace.
//
// A stalled watcher requests everything, stops reading each stream and soon abandons
// it.
type watcher struct {
	client
	consumer *consumer
	backoff  backoff
	stalls   bool
	// careless draws which streams mutate the objects they receive, one number each.
	careless  *rand.Rand
	mutations *numbers // the source of careless
}

// maxStalledStream bounds how long a stalled watcher keeps a stream: long enough to
// delay others, and short enough to do so repeatedly.
const maxStalledStream = 8 * time.Second

func (w *watcher) run() {
	if w.part != nil {
		w.takePart(w.alive, func(step Step) {
			w.mutations.seek(step.Number - 1)
			w.watch(w.anyServer())
		})
		return
	}
	// The wait after a failure and the think time are one sleep, because a part records
	// only the start of a step, and a reduced run must wake goroutines equally often.
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

// watch opens one stream and reads it to its end. It returns whether the stream could
// be opened.
func (w *watcher) watch(server *session) bool {
	request, pace, length := w.drawRequest(server), drawPace(w.random, true), time.Duration(0)
	// A quarter of the streams are kept for as long as they last.
	if !oneIn(w.random, 4) {
		length = drawDuration(w.random, maxStream)
	}
	if w.stalls {
		request.Scope, request.Selector = model.Scope{}, model.Selector{}
		pace, length = drawStalledPace(w.random), drawDuration(w.random, maxStalledStream)
	}
	request.Timeout = w.drawTimeout(length)
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

// drawRequest draws where a stream starts and what it requests.
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

// knownRV draws an RV that the watcher has seen; it lists first if there is none.
func (w *watcher) knownRV(server *session, draw func(*rand.Rand) int64) int64 {
	if w.knowledge.newest() == 0 {
		w.do(server, &model.Operation{Kind: model.List}, "")
	}
	return draw(w.random)
}
