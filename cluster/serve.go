package cluster

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim/simnet"
)

// The messages on the wire. The receiver of a pointer owns what it points to.
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

// requestTimeout is how long a server works on one request, as with kube-apiserver's
// --request-timeout.
const requestTimeout = 60 * time.Second

// requestBytes is the size on the wire of a request or response.
const requestBytes = 256

// handshakeTimeout is how long a server waits for a client in the TLS handshake, as net/http's client does for a server
// (http.DefaultTransport.TLSHandshakeTimeout).
const handshakeTimeout = 10 * time.Second

// handler is the serving half of an API server, between the network and the target.
type handler struct {
	server   target.Server
	storage  target.Storage // the server too, nil if it serves HTTP by itself
	listener net.Listener
	mail     *mailbox
	config   *Config
	pass     func(ctx context.Context, point string)

	// expired is the expired certificate shown to clients of a server that serves HTTPS, nil if it shows a valid one.
	expired atomic.Pointer[tls.Certificate]

	mu    sync.Mutex
	conns []net.Conn // open connections, in order of their opening
	// streams is how many watches are being served.
	streams int
	closed  bool
}

// run serves until the listener is closed.
func (h *handler) run() {
	if web, is := h.server.(target.Web); is {
		web.Serve(webListener{h.listener, h})
		return
	}
	for {
		conn, err := h.accept()
		if err != nil {
			return
		}
		go h.serve(&wire{Conn: conn.(*simnet.Conn), mail: h.mail})
	}
}

// accept returns the next connection, which disconnect can end.
func (h *handler) accept() (net.Conn, error) {
	conn, err := h.listener.Accept()
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		conn.Close()
		return nil, net.ErrClosed
	}
	h.conns = append(h.conns, conn)
	return conn, nil
}

// webListener accepts connections for a server that serves HTTP by itself.
type webListener struct {
	net.Listener
	handler *handler
}

func (l webListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.handler.accept()
		if err != nil {
			return nil, err
		}
		certificate := l.handler.expired.Load()
		if certificate == nil || ownConn(conn) {
			return webConn{conn, l.handler}, nil
		}
		go l.handler.show(conn, certificate)
	}
}

// ownConn reports whether a server connected to itself, for which API servers have a certificate of their own.
func ownConn(conn net.Conn) bool {
	here, _, err := net.SplitHostPort(conn.LocalAddr().String())
	there, _, err2 := net.SplitHostPort(conn.RemoteAddr().String())
	return err == nil && err2 == nil && here == there
}

// show shows a client a certificate that it does not accept.
func (h *handler) show(conn net.Conn, certificate *tls.Certificate) {
	defer h.forget(conn)
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(handshakeTimeout))
	_ = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{*certificate}}).Handshake()
}

// webConn removes itself from the open connections when it is closed.
type webConn struct {
	net.Conn
	handler *handler
}

func (c webConn) Close() error {
	c.handler.forget(c.Conn)
	return c.Conn.Close()
}

// close ends all connections: open ones would hold the handlers.
func (h *handler) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.disconnect()
}

// disconnect ends the open connections.
func (h *handler) disconnect() {
	h.mu.Lock()
	conns := slices.Clone(h.conns)
	h.mu.Unlock()
	for _, conn := range conns {
		conn.Close()
	}
}

func (h *handler) forget(conn net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns = slices.DeleteFunc(h.conns, func(other net.Conn) bool { return other == conn })
}

// serve answers the requests of one connection. The end of the connection cancels requests
// in flight.
func (h *handler) serve(w *wire) {
	defer h.forget(w.Conn)
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
	token := h.storage.Do(ctx, request.operation, request.token)
	if done != "" {
		h.pass(ctx, done)
	}
	// A client that has disconnected does not see this error.
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
	watch := h.storage.Watch(ctx, stream)
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
