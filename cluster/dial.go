package cluster

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim/simnet"
)

// Dial returns a client's connection to a server. It connects when needed; the goroutines
// that use it must belong to the client's process.
func (c *Cluster) Dial(server string) target.API {
	return &remote{address: address(server), mail: c.mail}
}

// remote is a client's view of a server: connections that requests reuse, and a connection for each
// watch.
type remote struct {
	address string
	mail    *mailbox

	mu   sync.Mutex
	idle []*wire
}

// Do performs one operation. A request that was never sent is Unavailable: it had no
// effect. One that was sent but not answered is Unknown.
func (r *remote) Do(ctx context.Context, op *model.Operation, token string) (next string) {
	sent := *op
	for {
		w, reused, err := r.connect(ctx)
		if err != nil {
			op.Err, op.Message = model.Unavailable, err.Error()
			return ""
		}
		stop := cutOff(ctx, w)
		if err := w.send(request{operation: &sent, token: token}, requestBytes); err != nil {
			w.Close()
			stop()
			if reused {
				// The server closed the idle connection meanwhile, and has not
				// seen the request.
				continue
			}
			op.Err, op.Message = model.Unknown, err.Error()
			return ""
		}
		message, err := w.receive()
		if err != nil {
			w.Close()
			stop()
			op.Err, op.Message = model.Unknown, err.Error()
			return ""
		}
		if stop() {
			r.keep(w)
		} else {
			w.Close()
		}
		answer := message.(response)
		*op = *answer.operation
		return answer.token
	}
}

// Watch opens a stream.
func (r *remote) Watch(ctx context.Context, stream *model.Stream) target.Watch {
	w, err := r.open(ctx)
	if err != nil {
		stream.Err, stream.Message = model.Unavailable, err.Error()
		return nil
	}
	sent := *stream
	stop := cutOff(ctx, w)
	var message any
	if err = w.send(request{stream: &sent}, requestBytes); err == nil {
		message, err = w.receive()
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		w.Close()
		stream.Err, stream.Message = model.Unknown, err.Error()
		return nil
	}
	answer := message.(response)
	*stream = *answer.stream
	if stream.Err != model.OK {
		w.Close()
		return nil
	}
	return &remoteWatch{wire: w}
}

// connect returns an idle connection or makes a new one.
func (r *remote) connect(ctx context.Context) (w *wire, reused bool, err error) {
	r.mu.Lock()
	if n := len(r.idle); n > 0 {
		w := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.mu.Unlock()
		return w, true, nil
	}
	r.mu.Unlock()
	w, err = r.open(ctx)
	return w, false, err
}

func (r *remote) open(ctx context.Context) (*wire, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", r.address)
	if err != nil {
		return nil, err
	}
	return &wire{Conn: conn.(*simnet.Conn), mail: r.mail}, nil
}

func (r *remote) keep(w *wire) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = append(r.idle, w)
}

// cutOff makes the end of ctx end pending calls on the connection. stop undoes that and
// reports whether the connection is still intact.
func cutOff(ctx context.Context, w *wire) (stop func() bool) {
	past := time.Unix(1, 0)
	return context.AfterFunc(ctx, func() { _ = w.SetDeadline(past) })
}

// remoteWatch is the receiving end of a stream.
type remoteWatch struct {
	wire    *wire
	stopped atomic.Bool
}

// Next waits for the next event.
func (r *remoteWatch) Next() (model.Event, model.CloseReason, bool) {
	message, err := r.wire.receive()
	if err != nil {
		if r.stopped.Load() {
			return model.Event{}, model.ClosedByClient, false
		}
		r.wire.Close()
		return model.Event{}, model.ClosedByReset, false
	}
	arrived := message.(delivery)
	if arrived.end != "" {
		r.wire.Close()
		return model.Event{}, arrived.end, false
	}
	return arrived.event, "", true
}

// Stop ends the stream.
func (r *remoteWatch) Stop() {
	r.stopped.Store(true)
	r.wire.Close()
}
