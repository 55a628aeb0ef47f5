package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/model"
)

// auditEntry has the fields that are read of an audit event (audit.k8s.io).
type auditEntry struct {
	Kind        string            `json:"kind"`
	APIVersion  string            `json:"apiVersion"`
	AuditID     string            `json:"auditID"`
	Stage       string            `json:"stage"`
	RequestURI  string            `json:"requestURI"`
	Verb        string            `json:"verb"`
	User        auditUser         `json:"user"`
	Impersonate *auditUser        `json:"impersonatedUser"`
	SourceIPs   []string          `json:"sourceIPs"`
	UserAgent   string            `json:"userAgent"`
	Annotations map[string]string `json:"annotations"`
	ObjectRef   struct {
		Name string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus json.RawMessage `json:"responseStatus"`
	RequestObject  json.RawMessage `json:"requestObject"`
	ResponseObject json.RawMessage `json:"responseObject"`
	Received       time.Time       `json:"requestReceivedTimestamp"`
	Finished       time.Time       `json:"stageTimestamp"`
}

type auditUser struct {
	Username string `json:"username"`
}

// client returns a name for the process that made the request, unique as far as the log
// distinguishes processes: the user, the program, and the address.
func (e *auditEntry) client() string {
	who := e.User.Username
	if e.Impersonate != nil {
		who = e.Impersonate.Username
	}
	if program, _, _ := strings.Cut(e.UserAgent, "/"); program != "" {
		who += "/" + program
	}
	if addresses := strings.Join(e.SourceIPs, ","); addresses != "" {
		who += "@" + addresses
	}
	return cmp.Or(who, "unknown")
}

// auditReader adds audit logs to a recording.
type auditReader struct {
	// Recording takes what is read. Only requests for its resource are read; if that
	// is empty, the first request sets it, and there must not be another resource.
	Recording *Recording
	// ClockSkew is the most that the clock of the log's server may differ from others.
	ClockSkew time.Duration
	// Tell is called with each request; it may be nil.
	Tell func(*Told)

	resources map[string]int
	tokens    map[string]int // pages, to the IDs of the lists before them
}

// Read reads the log of one API server. Errors name the position in the file. A
// truncated last value is left out.
func (r *auditReader) Read(server, file string, in io.Reader) error {
	empty := true
	err := r.Recording.eachValue(file, in, func(value jsonValue) error {
		empty = false
		return r.value(server, value)
	})
	if err == nil && empty {
		err = fmt.Errorf("%s: expected audit events, found none: if the API server had no requests to log, leave the file out", file)
	}
	return err
}

func (r *auditReader) value(server string, value jsonValue) error {
	var e auditEntry
	if err := value.Decode(&e); err != nil {
		return err
	}
	group, _, _ := strings.Cut(e.APIVersion, "/")
	if e.Kind != "Event" || group != "audit.k8s.io" {
		return value.Errorf("expected an audit event of the API group audit.k8s.io, found the kind %.50q of %.50q", e.Kind, e.APIVersion)
	}
	if e.Stage != "ResponseComplete" && e.Stage != "Panic" {
		return nil // another entry has the response
	}
	request, isResource, err := parseURI(e.RequestURI)
	if !isResource && err == nil || request.Resource == "" && err != nil {
		return nil
	}
	if r.Recording.Resource == "" {
		r.Recording.Resource = request.Resource
	}
	if r.resources == nil {
		r.resources, r.tokens = map[string]int{}, map[string]int{}
	}
	if r.resources[request.Resource]++; request.Resource != r.Recording.Resource {
		return nil
	}
	omitted := ""
	if errors.Is(err, ErrUnsupported) {
		omitted, err = OmittedSelectors, nil
	}
	if err == nil {
		err = r.request(server, &e, request, omitted)
	}
	if err != nil {
		return value.Errorf("%w", err)
	}
	return nil
}

// OneResource returns an error if no resource was given and the logs that were read are
// about several.
func (r *auditReader) OneResource() error {
	if len(r.resources) < 2 {
		return nil
	}
	return fmt.Errorf("expected the resource to be named, as a history is about one, found several: %s", r.requested())
}

// OtherResources returns a note if the logs that were read have requests, but none for the
// resource, as when its name is misspelt.
func (r *auditReader) OtherResources() (notes []string) {
	if len(r.resources) > 0 && r.resources[r.Recording.Resource] == 0 {
		notes = append(notes, fmt.Sprintf("all requests of the audit logs: none is for %.60s, but for %s", r.Recording.Resource, r.requested()))
	}
	return notes
}

// requested lists the resources of the requests, the most frequent ones first.
func (r *auditReader) requested() string {
	var all []string
	names := slices.Sorted(maps.Keys(r.resources))
	slices.SortStableFunc(names, func(a, b string) int { return r.resources[b] - r.resources[a] })
	for _, name := range names[:min(len(names), 8)] {
		all = append(all, fmt.Sprintf("%.60s (%s)", name, model.Plural(r.resources[name], "request")))
	}
	return strings.Join(all, ", ")
}

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
