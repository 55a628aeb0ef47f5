package recorder

import (
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/watchsim/watchsim/model"
)

func (r *Recorder) addStreamLocked(s *model.Stream) {
	if r.hasRoomLocked(1) {
		r.streams = append(r.streams, s)
	}
}

// watch returns the body of a watch that has opened.
func (x *exchange) watch(response *http.Response) io.ReadCloser {
	r := x.transport.recorder
	body := response.Body
	r.locked(func() {
		x.Return, x.Code = r.options.Clock(), response.StatusCode
		encoding := encodingOf(response.Header)
		if encoding.events == nil {
			r.omitLocked(omittedEncoding)
			return
		}
		stream := x.Stream()
		stream.Closed = model.Pending
		r.addStreamLocked(&stream)
		watch := &watchBody{ReadCloser: response.Body, recorder: r, stream: &stream, encoding: encoding, splitter: encoding.events(), read: x.Return}
		r.open = append(r.open, watch)
		body = watch
	})
	return body
}

// watchBody is the body of a watch. It decodes what the client reads.
type watchBody struct {
	io.ReadCloser
	recorder *Recorder
	stream   *model.Stream
	encoding encoding
	splitter splitter
	over     bool // recording has ended
	once     sync.Once
	reading  bool  // the client waits for more
	read     int64 // when it last had an answer
}

// Read implements io.Reader.
func (w *watchBody) Read(p []byte) (int, error) {
	w.recorder.locked(func() { w.reading = true })
	n, err := w.ReadCloser.Read(p)
	w.recorder.locked(func() {
		w.reading, w.read = false, w.recorder.options.Clock()
		w.takeLocked(p[:n])
	})
	if err != nil {
		// A client does not know why a server ends a stream.
		w.end("")
	}
	return n, err
}

// Close implements io.Closer.
func (w *watchBody) Close() error {
	err := w.ReadCloser.Close()
	w.end(model.ClosedByClient)
	return err
}

func (w *watchBody) end(reason model.CloseReason) {
	w.once.Do(func() {
		w.recorder.locked(func() {
			w.over = true
			w.stream.Closed, w.stream.Reason = w.recorder.options.Clock(), reason
			w.recorder.open = slices.DeleteFunc(w.recorder.open, func(other *watchBody) bool { return other == w })
		})
	})
}

// Abandoned is a watch that its client has neither closed nor read from for a while.
type Abandoned struct {
	Server, Client string
	Opened, Read   int64 // by the recorder's clock: when it was opened, and when the client last read from it
}

// Abandoned returns the open watches of which clients have read nothing since a time of the recorder's clock, although there was something to
// read: who waits for an event reads.
func (r *Recorder) Abandoned(since int64) (all []Abandoned) {
	r.locked(func() {
		for _, w := range r.open {
			if !w.reading && w.read <= since {
				all = append(all, Abandoned{w.stream.Server, w.stream.Client, w.stream.Call, w.read})
			}
		}
	})
	return all
}

// takeLocked records the events that end within a piece of the body.
func (w *watchBody) takeLocked(piece []byte) {
	now := w.recorder.options.Clock()
	for len(piece) > 0 && !w.over {
		taken, value, err := w.splitter.Take(piece)
		var event model.Event
		if err == nil && value != nil {
			event, err = w.eventLocked(value)
		}
		switch {
		case err != nil:
			w.over = true
			w.recorder.omitLocked("watches, after something that is not a watch event")
		case value != nil && !w.recorder.hasRoomLocked(1):
			w.over = true
		case value != nil:
			event.Time = now
			w.stream.Events = append(w.stream.Events, event)
		}
		piece = piece[taken:]
	}
}

func (w *watchBody) eventLocked(value []byte) (event model.Event, err error) {
	of, object, err := w.encoding.event(value, &w.recorder.texts)
	if err == nil {
		event, _, err = w.recorder.reducer.EventOf(of, object)
	}
	return event, err
}
