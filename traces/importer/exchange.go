package importer

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/watchsim/watchsim/model"
)

// The reasons why requests are omitted, for all sources.
const (
	omittedBodies = "requests without a recorded response, so that what they read or wrote is unknown; in an audit log, those below the level RequestResponse or truncated"
	omittedPages  = "pages of lists whose first page was not recorded"
	omittedNames  = "refused creates with generateName"
	// OmittedOthers is why a recorder omits requests that a history has no kind for.
	OmittedOthers = "requests for subresources, dry runs and deletions of collections"
	// OmittedSelectors is why requests are omitted for which ParseURL returns
	// [ErrUnsupported].
	OmittedSelectors = "requests with selectors that a history cannot hold, such as \"in\" and \"!=\""
)

// Exchange is one request and its response, as a client or a server recorded them.
type Exchange struct {
	Request
	Kind           model.Kind
	Client, Server string
	// Agent is the request's User-Agent, which distinguishes parts of a client, such as the controllers of a controller manager.
	Agent        string
	Call, Return int64
	// Sent is the resourceVersion in the body of an update, 0 for none.
	Sent int64
	// SentUID is the UID there, which is also a precondition.
	SentUID string
	// GenerateName is the prefix in the body of a create whose name the server generates.
	GenerateName string
	// Code is the HTTP status of the response, and Err what it means.
	Code int
	Err  model.Code
	// Body is that of the response, nil if it was not recorded.
	Body []byte
	// Next identifies the next page by the continue token and the query, "" for none. Operation fills it in.
	Next string
	// AuditID identifies the request in the server's audit log, and in the header Audit-Id
	// of the response; empty if there was no response.
	AuditID string
}

// Told is an exchange of a source, whether or not the history has it.
type Told struct {
	Exchange
	// Op is the operation in the history, without an ID, and Omitted why it is omitted. Op
	// has only its kind if a history cannot represent it.
	Op      model.Operation
	Omitted string
}

// Operation returns the operation of an exchange, or why it is omitted. Pages has the
// IDs of lists by their Next. An error says that the response is invalid.
func (x *Exchange) Operation(reducer Reducer, pages map[string]int) (op model.Operation, omitted string, err error) {
	op = model.Operation{
		Kind: x.Kind, Client: x.Client, Server: x.Server, Call: x.Call, Return: x.Return, Err: x.Err,
		Scope: x.Scope, Selector: x.Selector, RV: x.RV, Match: x.Match, Limit: x.Limit,
	}
	if x.Kind == model.List && x.Continue != "" {
		if op.Continues = pages[x.page(x.Continue)]; op.Continues == 0 {
			return op, omittedPages, nil
		}
	}
	write := op.IsWrite()
	if op.Kind == model.Create && op.Err == model.NotFound {
		op.Err = model.Unavailable // it is the namespace that was not found
	}
	if write {
		op.RV, op.Precondition = 0, x.Sent
		op.Object = &model.Object{Namespace: x.Scope.Namespace, Name: x.Scope.Name}
		if op.Err == model.Conflict {
			op.Object.UID = x.SentUID
		}
	}
	switch {
	case op.Err == model.OK && x.Body == nil:
		return op, omittedBodies, nil
	case op.Err == model.OK && x.Kind == model.List:
		var list List
		if list, err = reducer.List(x.Body); err == nil {
			op.ResultRV, op.Objects, op.Remaining, op.HasMore, x.Next = list.RV, list.Objects, list.Remaining, list.Continue != "", x.page(list.Continue)
		}
	case op.Err == model.OK && write:
		omitted, err = x.written(&op, reducer)
	case op.Err == model.OK:
		var object model.Object
		if object, err = reducer.Object(x.Body); err == nil {
			op.ResultRV, op.Objects = object.RV, []model.Object{object}
		}
	}
	switch {
	case write && omitted == "" && op.Object.Name == "":
		omitted = omittedNames
	case x.Kind == model.Get && op.Scope.Name == "":
		op.Scope.Name = "unknown"
	}
	return op, omitted, err
}

// Stream returns the stream of a watch, from its request and first response.
func (x *Exchange) Stream() model.Stream {
	return model.Stream{
		Client: x.Client, Server: x.Server, Call: x.Call, Return: x.Return, Closed: x.Return,
		Scope: x.Scope, Selector: x.Selector, RV: x.RV, Bookmarks: x.Bookmarks, InitialEvents: x.InitialEvents, Timeout: x.Timeout, Err: x.Err,
	}
}

// written fills in what a successful write wrote.
func (x *Exchange) written(op *model.Operation, reducer Reducer) (omitted string, err error) {
	read, err := reducer.reduce(x.Body)
	object := read.object
	switch {
	case err != nil:
		return "", err
	case op.Kind == model.Delete && (object.RV == 0 || read.kind == "Status"): // a Status instead of the object
		var answer status
		if json.Unmarshal(x.Body, &answer) == nil && answer.Details.UID != "" {
			op.Objects = []model.Object{{Namespace: x.Scope.Namespace, Name: x.Scope.Name, UID: answer.Details.UID}} // see nameDeletions
		}
	case object.Name == "" || object.RV == 0:
		return omittedBodies, nil
	default:
		op.ResultRV, op.Scope.Name = object.RV, object.Name
		op.Object = &model.Object{Namespace: object.Namespace, Name: object.Name}
		if op.Kind != model.Delete {
			op.Objects = []model.Object{object}
		}
	}
	switch {
	case op.Kind == model.Update && x.Code == http.StatusCreated:
		op.Kind, op.Precondition = model.Create, 0 // a PUT or an apply of an object that did not exist
	case op.Kind == model.Update && read.over:
		// An update that removes the last finalizer deletes the object, and returns the state that it would have.
		// Kubernetes deletes what is stored by then, regardless of the update's resourceVersion: finding 19.
		op.Kind, op.Precondition, op.ResultRV = model.Delete, 0, 0
		op.Objects = []model.Object{{Namespace: object.Namespace, Name: object.Name, UID: object.UID, RV: object.RV}} // see nameDeletions
	}
	return "", nil
}

// isOver reports whether an object has a deletionTimestamp, and no finalizer or grace period left.
func (h *head) isOver() bool {
	m := &h.Metadata
	return m.DeletionTimestamp != nil && len(m.Finalizers) == 0 && m.DeletionGracePeriodSeconds == 0 && len(h.spec().Finalizers) == 0
}

// page identifies a page of a list. A continue token has the next key and the resourceVersion, but
// not the query: lists with different selectors may get the same token.
func (x *Exchange) page(token string) string {
	if token == "" {
		return ""
	}
	return fmt.Sprintf("%s %q %q %q", token, x.Scope, x.Selector.Labels, x.Selector.Node)
}
