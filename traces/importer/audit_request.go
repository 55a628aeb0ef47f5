package importer

import (
	"encoding/json"
	"time"

	"github.com/watchsim/watchsim/model"
)

// The reasons why requests are omitted that apply only to audit logs.
const (
	omittedWatches     = "watches: an audit log never holds their events; use `simrun record`, or kubectl with --output-watch-events"
	omittedCollections = "deletions of collections: which objects they deleted is not in the log"
	omittedSubresource = "requests for subresources other than status"
	omittedDryRuns     = "dry runs"
	omittedVerbs       = "requests with an unknown verb"
	omittedMerged      = "requests that an imported history already has, with the times of the client"
)

// WholeObject are the subresources whose writes return the whole object; empty is the object itself.
var WholeObject = map[string]bool{"": true, "status": true, "ephemeralcontainers": true, "resize": true, "approval": true, "finalize": true}

var kindsOfVerbs = map[string]model.Kind{
	"list": model.List, "get": model.Get, "create": model.Create, "update": model.Update, "patch": model.Update, "delete": model.Delete,
}

// auditPrecision is that of the times in an audit log, in nanoseconds: they are truncated.
const auditPrecision = int64(time.Microsecond)

// request adds one request to the recording, or counts it as omitted.
func (r *auditReader) request(server string, e *auditEntry, request Request, omitted string) error {
	var answer status
	_ = json.Unmarshal(e.ResponseStatus, &answer) // an entry without one has the code 0
	told := Told{Exchange: Exchange{
		Request: request, Kind: kindsOfVerbs[e.Verb], Client: e.client(), Server: server, Agent: e.UserAgent,
		Call: e.Received.UnixNano(), Return: max(e.Finished.UnixNano(), e.Received.UnixNano()) + auditPrecision - 1, Code: answer.Code,
		AuditID: e.AuditID,
	}}
	x := &told.Exchange
	if x.Err = FailureOf(x.Code, e.ResponseStatus); e.Stage == "Panic" {
		x.Err = model.Unknown
	}
	if x.Scope.Name == "" && e.Verb != "list" {
		x.Scope.Name = e.ObjectRef.Name
	}
	if len(e.ResponseObject) > 0 && e.Annotations["audit.k8s.io/truncated"] != "true" {
		x.Body = e.ResponseObject
	}
	if sent, err := plain.Object(e.RequestObject); err == nil && len(e.RequestObject) > 0 && x.Kind == model.Update {
		x.Sent, x.SentUID = sent.RV, sent.UID
	}
	switch watch := request.Watch || e.Verb == "watch"; {
	case omitted != "":
	case !WholeObject[request.Subresource]:
		omitted = omittedSubresource
	case request.DryRun:
		omitted = omittedDryRuns
	case watch && x.Err == model.OK:
		omitted = omittedWatches
	case watch:
		r.tell(&told)
		return r.Recording.AddStream(x.Stream(), false)
	case e.Verb == "deletecollection":
		omitted = omittedCollections
	case x.Kind == "":
		omitted = omittedVerbs
	}
	var err error
	told.Op.Kind = x.Kind
	if omitted == "" {
		told.Op, omitted, err = x.Operation(plain, r.tokens)
	}
	if told.Omitted = omitted; err != nil {
		return err
	}
	r.tell(&told)
	if omitted != "" {
		r.Recording.Omit(omitted)
		return nil
	}
	id, err := r.add(told.Op)
	if x.Next != "" {
		r.tokens[x.Next] = id
	}
	return err
}

func (r *auditReader) tell(told *Told) {
	if r.Tell != nil {
		r.Tell(told)
	}
}

// add adds a request, unless a merged history has it, and returns its ID.
func (r *auditReader) add(op model.Operation) (int, error) {
	if id := r.Recording.takeMerged(&op, r.ClockSkew); id != 0 {
		r.Recording.Omit(omittedMerged)
		return id, nil
	}
	return r.Recording.AddOperation(op)
}
