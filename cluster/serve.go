package cluster

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim/simnet"
)

// The messages of the wire. The receiver of a pointer owns what it points to.
type (
	request struct {
		operation *model.Operation
		stream    *model.Stream // instead of an operation: open a watch
		token     string
	}
	response struct {
		operation *model.Operation
		stream    *model.Stream
		token     string
	}
	delivery struct {
		event model.Event
		end   model.CloseReason // instead of an event: the stream is over
	}
)

// requestTimeout is how long a server works on one request, as kube-apiserver's
// --request-timeout has it.
const requestTimeout = 60 * time.Second

// requestBytes is the size on the wire of a request or response.
const requestBytes = 256

// handler is the serving half of an API server, between the network and the target.
type handler struct {
	server   target.Server
	listener net.Listener
	mail     *mailbox
	config   *Config
	pass     func(ctx context.Context, point string)

	mu    sync.Mutex
	wires []*wire // open connections, in order of their opening
	// streams is how many watches are being served.
	streams int
	closed  bool
}

func (h *handler) accept() {
	for {
		conn, err := h.listener.Accept()
		if err != nil {
			return
		}
		w := &wire{Conn: conn.(*simnet.Conn), mail: h.mail}
		h.mu.Lock()
		if h.closed {
			h.mu.Unlock()
			conn.Close()
			return
		}
		h.wires = append(h.wires, w)
		h.mu.Unlock()
		go h.serve(w)
	}
}

// close ends all connections: what clients keep open would hold the handlers.
func (h *handler) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.disconnect()
}

// disconnect ends the connections that are open.
func (h *handler) disconnect() {
	h.mu.Lock()
	wires := slices.Clone(h.wires)
	h.mu.Unlock()
	for _, w := range wires {
		w.Close()
	}
}

func (h *handler) forget(w *wire) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wires = slices.DeleteFunc(h.wires, func(other *wire) bool { return other == w })
}

// serve answers the requests of one connection. The end of the connection cancels requests
// in flight.
func (h *handler) serve(w *wire) {
	defer h.forget(w)
	defer w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for {
		message, err := w.receive()
		if err != nil {
			return
		}
		request := message.(request)
		if request.stream != nil {
			go h.watch(ctx, w, request.stream)
			continue
		}
		go h.do(ctx, w, request)
	}
}

func (h *handler) do(ctx context.Context, w *wire, request request) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	arrived, done := pointsOf(request)
	if arrived != "" {
		h.pass(ctx, arrived)
	}
	token := h.server.Do(ctx, request.operation, request.token)
	if done != "" {
		h.pass(ctx, done)
	}
	// A client that has disconnected does not notice a failure to answer.
	_ = w.send(response{operation: request.operation, token: token}, requestBytes)
}

// pointsOf are the points of a request: where it has arrived, and where it is done;
// "" for none.
func pointsOf(request request) (arrived, done string) {
	switch request.operation.Kind {
	case model.Create, model.Update, model.Delete:
		return faults.PointClientWrite, faults.PointClientWritten
	case model.List:
		if request.token != "" {
			return faults.PointClientPage, ""
		}
		return faults.PointClientList, ""
	}
	return "", ""
}

func (h *handler) addStreams(change int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams += change
}

func (h *handler) openStreams() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.streams
}

// watch forwards one stream until either side ends it.
func (h *handler) watch(ctx context.Context, w *wire, stream *model.Stream) {
	h.pass(ctx, faults.PointClientWatch)
	watch := h.server.Watch(ctx, stream)
	if watch != nil {
		h.pass(ctx, faults.PointClientStream)
	}
	if err := w.send(response{stream: stream}, requestBytes); err != nil || watch == nil {
		if watch != nil {
			watch.Stop()
		}
		return
	}
	h.addStreams(1)
	defer h.addStreams(-1)
	defer w.Close()
	defer context.AfterFunc(ctx, watch.Stop)()
	for {
		event, reason, ok := watch.Next()
		if !ok {
			_ = w.send(delivery{end: reason}, requestBytes)
			return
		}
		if err := w.send(delivery{event: event}, h.config.EventBytes); err != nil {
			watch.Stop()
			return
		}
	}
}
