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
	return r.Recording.eachValue(file, in, func(value jsonValue) error { return r.value(server, value) })
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
