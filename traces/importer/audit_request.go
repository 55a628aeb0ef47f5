package importer

import (
	"encoding/json"

	"github.com/watchsim/watchsim/model"
)

// The reasons for which requests are left out.
const (
	omittedLevels      = "requests of which the log holds no answer, as the audit level was below RequestResponse or the entry was cut: nobody knows what they read or wrote"
	omittedWatches     = "watches: an audit log never holds their events; use `simrun record`, or kubectl with --output-watch-events"
	omittedCollections = "deletions of collections: which objects they deleted is not in the log"
	omittedSubresource = "requests for subresources other than status"
	omittedUnknown     = "writes of which nobody knows whether they were carried out"
	omittedDryRuns     = "dry runs"
	omittedPages       = "pages of lists that began before the log does"
	omittedMerged      = "requests that an imported history has already, with the times of the client"
)

// wholeObject are the subresources that are answered with the object itself.
var wholeObject = map[string]bool{"": true, "status": true, "ephemeralcontainers": true, "resize": true, "approval": true, "finalize": true}

// request adds one request to the recording, or counts why it does not.
func (r *auditReader) request(server string, e *auditEntry, request Request) error {
	op := model.Operation{
		Client: e.client(), Server: server,
		Call: e.Received.UnixNano(), Return: max(e.Finished.UnixNano(), e.Received.UnixNano()),
		Scope: request.Scope, Selector: request.Selector,
		RV: request.RV, Match: request.Match, Limit: request.Limit,
	}
	if op.Scope.Name == "" && e.Verb != "list" {
		op.Scope.Name = e.ObjectRef.Name
	}
	if e.Stage == "Panic" {
		op.Err = model.Unknown
	} else {
		op.Err = FailureOf(statusCode(e.ResponseStatus), e.ResponseStatus)
	}
	leave := func(why string) error { r.Recording.Omit(why); return nil }
	switch {
	case !wholeObject[request.Subresource]:
		return leave(omittedSubresource)
	case request.DryRun:
		return leave(omittedDryRuns)
	case request.Watch || e.Verb == "watch":
		return r.watch(server, e, request, op)
	case e.Verb == "list":
		return r.list(e, request, op)
	case e.Verb == "get":
		return r.get(e, op)
	case e.Verb == "deletecollection":
		return leave(omittedCollections)
	case e.Verb == "create", e.Verb == "update", e.Verb == "patch", e.Verb == "delete":
		return r.write(e, op)
	}
	return leave("requests with a verb that is none of Kubernetes'")
}

// add adds a request, unless it came with a history, and returns its ID.
func (r *auditReader) add(op model.Operation) (int, error) {
	if id := r.Recording.takeMerged(&op, r.ClockSkew); id != 0 {
		r.Recording.Omit(omittedMerged)
		return id, nil
	}
	return r.Recording.AddOperation(op)
}

func statusCode(status json.RawMessage) int {
	var s struct {
		Code int `json:"code"`
	}
	if json.Unmarshal(status, &s) != nil {
		return 0
	}
	return s.Code
}

// answered reports whether the log holds the answer, and counts the request if not.
func (r *auditReader) answered(e *auditEntry) bool {
	if len(e.ResponseObject) > 0 && e.Annotations["audit.k8s.io/truncated"] != "true" {
		return true
	}
	r.Recording.Omit(omittedLevels)
	return false
}

func (r *auditReader) list(e *auditEntry, request Request, op model.Operation) error {
	op.Kind = model.List
	if request.Continue != "" {
		if op.Continues = r.tokens[request.Continue]; op.Continues == 0 {
			r.Recording.Omit(omittedPages)
			return nil
		}
	}
	if op.Err == model.OK {
		if !r.answered(e) {
			return nil
		}
		list, err := plain.List(e.ResponseObject)
		if err != nil {
			return err
		}
		op.ResultRV, op.Objects, op.Remaining, op.HasMore = list.RV, list.Objects, list.Remaining, list.Continue != ""
		id, err := r.add(op)
		if op.HasMore {
			r.tokens[list.Continue] = id
		}
		return err
	}
	_, err := r.add(op)
	return err
}

func (r *auditReader) get(e *auditEntry, op model.Operation) error {
	op.Kind = model.Get
	if op.Err == model.OK {
		if !r.answered(e) {
			return nil
		}
		object, err := single(e.ResponseObject)
		if err != nil {
			return err
		}
		op.ResultRV, op.Objects = object.RV, []model.Object{object}
	}
	if op.Scope.Name == "" {
		op.Scope.Name = "unknown"
	}
	_, err := r.add(op)
	return err
}

// single reduces an object, or a table with one row, which is what kubectl asks for.
func single(text []byte) (model.Object, error) {
	var table struct {
		Kind string `json:"kind"`
		Rows []struct {
			Object json.RawMessage `json:"object"`
		} `json:"rows"`
	}
	if json.Unmarshal(text, &table) == nil && table.Kind == "Table" && len(table.Rows) == 1 {
		text = table.Rows[0].Object
	}
	return plain.Object(text)
}

func (r *auditReader) write(e *auditEntry, op model.Operation) error {
	op.Kind = map[string]model.Kind{"create": model.Create, "update": model.Update, "patch": model.Update, "delete": model.Delete}[e.Verb]
	if op.Err == model.Unknown {
		r.Recording.Omit(omittedUnknown)
		return nil
	}
	if sent, err := plain.Object(e.RequestObject); err == nil && len(e.RequestObject) > 0 && op.Kind == model.Update {
		op.Precondition = sent.RV
	}
	op.RV = 0
	op.Object = &model.Object{Namespace: op.Scope.Namespace, Name: op.Scope.Name}
	if op.Err == model.OK {
		if !r.answered(e) {
			return nil
		}
		object, err := plain.Object(e.ResponseObject)
		if err != nil {
			return err
		}
		switch {
		case op.Kind == model.Delete && isStatus(e.ResponseObject):
		case object.Name == "" || object.RV == 0:
			r.Recording.Omit(omittedLevels)
			return nil
		default:
			op.ResultRV, op.Scope.Name = object.RV, object.Name
			op.Object = &model.Object{Namespace: object.Namespace, Name: object.Name}
			if op.Kind != model.Delete {
				op.Objects = []model.Object{object}
			}
		}
		if op.Kind == model.Update && statusCode(e.ResponseStatus) == 201 {
			op.Kind, op.Precondition = model.Create, 0 // a PUT or an apply of what was not there
		}
	}
	if op.Object.Name == "" {
		r.Recording.Omit(omittedLevels)
		return nil
	}
	_, err := r.add(op)
	return err
}

// isStatus reports whether a Status came in the place of an object.
func isStatus(text []byte) bool {
	var object struct {
		Kind string `json:"kind"`
	}
	return json.Unmarshal(text, &object) == nil && object.Kind == "Status"
}

// watch keeps a watch that was refused. Of others, the log has nothing to judge.
func (r *auditReader) watch(server string, e *auditEntry, request Request, op model.Operation) error {
	if op.Err == model.OK {
		r.Recording.Omit(omittedWatches)
		return nil
	}
	return r.Recording.AddStream(model.Stream{
		Client: op.Client, Server: server, Call: op.Call, Return: op.Return, Closed: op.Return,
		Scope: request.Scope, Selector: request.Selector, RV: request.RV,
		Bookmarks: request.Bookmarks, InitialEvents: request.InitialEvents, Timeout: request.Timeout, Err: op.Err,
	}, false)
}
