package recorder

import (
	"io"
	"net/http"
	"sync"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/importer"
)

// exchange is one request and its answer.
type exchange struct {
	transport *transport
	asked     importer.Request
	method    string
	sent      int64 // the resourceVersion in an update
	call      int64
	leave     string // why it is not recorded; empty if it is
}

// kind returns what a request does, nothing if that is not recorded.
func (x *exchange) kind() model.Kind {
	named := x.asked.Scope.Name != ""
	switch x.method {
	case http.MethodGet:
		if named && !x.asked.Watch && !x.asked.NameSelected {
			return model.Get
		}
		return model.List
	case http.MethodPost:
		return model.Create
	case http.MethodPut, http.MethodPatch:
		return model.Update
	case http.MethodDelete:
		if named {
			return model.Delete
		}
	}
	return ""
}

// answer is the body of an answer that ends. It keeps a copy of what the client reads.
type answer struct {
	io.ReadCloser
	exchange *exchange
	code     int
	readable bool
	body     []byte
	tooLong  bool
	once     sync.Once
}

// Read implements io.Reader.
func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if len(a.body)+n > importer.MaxValue {
		a.tooLong, a.body = true, nil
	} else if a.readable && !a.tooLong {
		a.body = append(a.body, p[:n]...)
	}
	if err == io.EOF {
		a.done()
	}
	return n, err
}

// Close implements io.Closer. A client may close a body when it has seen enough.
func (a *answer) Close() error {
	err := a.ReadCloser.Close()
	a.done()
	return err
}

func (a *answer) done() {
	a.once.Do(func() {
		x := a.exchange
		if x.leave == "" && a.code < 300 && (!a.readable || a.tooLong) {
			x.leave = omittedEncoding
		}
		x.end(a.code, a.body)
		a.body = nil
	})
}

// end records an exchange that is over. A code of 0 says that no answer came.
func (x *exchange) end(code int, body []byte) {
	r := x.transport.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if x.leave != "" {
		r.omitLocked(x.leave)
		return
	}
	failure := model.Unknown
	if code != 0 {
		failure = importer.FailureOf(code, body)
	}
	if x.asked.Watch {
		stream := x.newStream(now)
		stream.Err, stream.Closed = failure, now
		r.addStreamLocked(stream)
		return
	}
	op := model.Operation{
		ID: len(r.operations) + 1, Client: x.transport.client, Server: x.transport.server, Kind: x.kind(), Call: x.call, Return: now,
		Scope: x.asked.Scope, Selector: x.asked.Selector, RV: x.asked.RV, Match: x.asked.Match, Limit: x.asked.Limit, Err: failure,
	}
	var why string
	switch op.Kind {
	case model.List:
		why = x.listLocked(&op, body)
	case model.Get:
		why = x.get(&op, body)
	default:
		why = x.write(&op, code, body)
	}
	switch {
	case why != "":
		r.omitLocked(why)
	case r.hasRoomLocked(1 + len(op.Objects)):
		r.operations = append(r.operations, op)
	}
}

func (x *exchange) listLocked(op *model.Operation, body []byte) (leave string) {
	r := x.transport.recorder
	if x.asked.Continue != "" {
		if op.Continues = r.tokens[x.asked.Continue]; op.Continues == 0 {
			return omittedPages
		}
	}
	if op.Err != model.OK {
		return ""
	}
	list, err := r.reducer.List(body)
	if err != nil {
		return omittedOddities
	}
	op.ResultRV, op.Objects, op.Remaining, op.HasMore = list.RV, list.Objects, list.Remaining, list.Continue != ""
	if op.HasMore {
		r.tokens[list.Continue] = op.ID
	}
	return ""
}

func (x *exchange) get(op *model.Operation, body []byte) (leave string) {
	if op.Err != model.OK {
		return ""
	}
	object, err := x.transport.recorder.reducer.Object(body)
	if err != nil || object.Name == "" {
		return omittedOddities
	}
	op.ResultRV, op.Objects = object.RV, []model.Object{object}
	return ""
}

func (x *exchange) write(op *model.Operation, code int, body []byte) (leave string) {
	op.RV, op.Precondition = 0, x.sent
	op.Object = &model.Object{Namespace: op.Scope.Namespace, Name: op.Scope.Name}
	switch op.Err {
	case model.Unknown:
		return omittedUnknown
	case model.OK:
		object, err := x.transport.recorder.reducer.Object(body)
		switch {
		case err != nil, object.RV == 0 && op.Kind != model.Delete:
			return omittedOddities
		case op.Kind == model.Delete && object.RV == 0: // a Status, in the place of the object
		default:
			op.ResultRV = object.RV
			op.Object = &model.Object{Namespace: object.Namespace, Name: object.Name}
		}
		if op.Kind == model.Update && code == http.StatusCreated {
			op.Kind, op.Precondition = model.Create, 0
		}
		if op.Kind != model.Delete {
			op.Objects = []model.Object{object}
		}
	}
	if op.Object.Name == "" {
		return omittedOthers // a refused create that left the name to the server
	}
	return ""
}
