package recorder

import (
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/importer"
)

// exchange is one request in flight, and its response.
type exchange struct {
	importer.Told
	transport *transport
}

// kindOf returns the kind of a request, empty if it is not recorded.
func kindOf(method string, asked importer.Request) model.Kind {
	named := asked.Scope.Name != ""
	switch method {
	case http.MethodGet:
		if named && !asked.Watch && !asked.NameSelected {
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

// answer is the body of a response other than a watch. It keeps a copy of what the client reads.
type answer struct {
	io.ReadCloser
	exchange *exchange
	code     int
	encoding encoding
	body     []byte
	tooLong  bool
	once     sync.Once
}

// Read implements io.Reader.
func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if len(a.body)+n > importer.MaxValue {
		a.tooLong, a.body = true, nil
	} else if !a.tooLong && a.exchange.Omitted == "" {
		a.body = append(a.body, p[:n]...)
	}
	if err == io.EOF {
		a.done()
	}
	return n, err
}

// Close implements io.Closer. A client may close a body before its end.
func (a *answer) Close() error {
	err := a.ReadCloser.Close()
	a.done()
	return err
}

func (a *answer) done() {
	a.once.Do(func() {
		x := a.exchange
		x.transport.recorder.locked(func() {
			known := &x.transport.recorder.texts
			if x.Kind == model.List {
				known = nil // lists are long, and hardly ever equal
			}
			text, err := a.encoding.asJSON(a.body, known)
			why := ""
			switch {
			case err == nil && !a.tooLong:
			case a.code >= 300:
				text = a.body // such as text/plain from a proxy
			case a.encoding.events == nil, a.tooLong:
				why = omittedEncoding
			default:
				why = omittedOddities // such as a truncated body
			}
			x.endLocked(a.code, text, why)
		})
		a.body = nil
	})
}

// endLocked records an exchange that has ended. A code of 0 says that there was no response, and unread why the response cannot be read.
func (x *exchange) endLocked(code int, body []byte, unread string) {
	r := x.transport.recorder
	r.unanswered = slices.DeleteFunc(r.unanswered, func(other *exchange) bool { return other == x })
	x.Return, x.Code, x.Body, x.Err = r.options.Clock(), code, body, model.Unknown
	if code != 0 {
		x.Err = importer.FailureOf(code, body)
	}
	switch {
	case x.Omitted != "":
	case x.Watch:
		stream := x.Stream()
		r.addStreamLocked(&stream)
	default:
		x.operationLocked(unread)
	}
	x.Body = nil
	if x.Omitted != "" {
		r.omitLocked(x.Omitted)
	}
}

// operationLocked records an operation, or sets why it is omitted.
func (x *exchange) operationLocked(unread string) {
	r := x.transport.recorder
	op, omitted, err := x.Operation(r.reducer, r.tokens)
	if err != nil {
		unread = omittedOddities
	}
	switch isWrite := (&model.Operation{Kind: x.Kind}).IsWrite(); {
	case unread != "" && !isWrite:
		omitted = unread
	case unread != "":
		// Without the response, the outcome of the write is unknown.
		r.omitLocked(unread)
		x.Err = model.Unknown
		op, omitted, _ = x.Operation(r.reducer, r.tokens)
	}
	x.Op, x.Omitted = op, omitted
	if x.Op.ID = len(r.operations) + 1; x.Omitted == "" && r.hasRoomLocked(1+len(x.Op.Objects)) {
		r.operations = append(r.operations, x.Op)
		if x.Next != "" {
			r.tokens[x.Next] = x.Op.ID
		}
	}
}
