package recorder

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
	"github.com/watchsim/watchsim/traces/importer"
)

// Options say what is recorded, and how.
type Options struct {
	// Bodies writes contents into the history instead of digests. Those of Secrets
	// are never written.
	Bodies bool
	// Labels keeps all labels, not only those that requests select by.
	Labels bool
	// Clock returns the time in nanoseconds, and must be monotonic; nil for the wall clock at the start plus the time
	// elapsed since. A history has the times of this clock; if it is nil, the history begins at 0 with its first record.
	Clock func() int64
	// Do runs each piece of work that records; nil calls it directly. A simulation keeps
	// such work out of its schedule.
	Do func(record func())
	// Server names the server that a request reached, after its response or failure; nil
	// for the one given to Wrap. Behind a load balancer it is not known earlier.
	Server func(*http.Request) string
	// Tell is called with each request when it is sent, including those that are not recorded.
	// The other fields are set when the request ends, or a watch opens; until then Return is
	// model.Pending. It may be nil.
	Tell func(*importer.Told)
}

// Recorder records the requests for one resource. It is safe for concurrent use.
type Recorder struct {
	resource string
	options  Options
	reducer  importer.Reducer
	clocked  bool // the clock is not the default

	mu         sync.Mutex
	texts      texts
	operations []model.Operation
	unanswered []*exchange // writes without a response yet, in the order in which they were sent
	streams    []*model.Stream
	open       []*watchBody
	tokens     map[string]int // pages, to the IDs of the lists before them
	servers    []string
	left       []string
	objects    int
	committed  *model.Truth // what etcd committed, nil if unknown
	faults     []model.Fault
}

// New returns a recorder of a resource, such as pods or deployments.apps.
func New(resource string, options Options) *Recorder {
	key := make([]byte, 32)
	rand.Read(key) // it never fails
	clocked := options.Clock != nil
	if !clocked {
		began := time.Now()
		options.Clock = func() int64 { return began.Add(time.Since(began)).UnixNano() }
	}
	if options.Do == nil {
		options.Do = func(record func()) { record() }
	}
	return &Recorder{
		resource: resource,
		options:  options,
		clocked:  clocked,
		reducer:  importer.Reducer{Family: "recorded", Key: key, Whole: options.Bodies, Blind: resource == "secrets"}.Remembering(),
		tokens:   map[string]int{},
	}
}

// Wrap returns a function that wraps a transport, for rest.Config.Wrap. The names are
// those of the server and the client in the history. A client has one view of the
// cluster, such as a process: what it observed on one server counts for its requests
// to another.
func (r *Recorder) Wrap(server, client string) func(http.RoundTripper) http.RoundTripper {
	r.locked(func() { r.servers = append(r.servers, "recorded "+client+" of "+server) })
	return func(next http.RoundTripper) http.RoundTripper {
		return &transport{recorder: r, next: next, server: server, client: client}
	}
}

// History makes a history of what has been recorded so far. The notes say what was
// omitted and why. Recording continues meanwhile.
func (r *Recorder) History() (header traces.Header, h *model.History, notes []string, err error) {
	recording, err := r.copied()
	if err != nil {
		return header, nil, nil, err
	}
	header, h, err = recording.History(importer.HistoryOptions{AllLabels: r.options.Labels, Clock: r.clocked})
	return header, h, recording.Omitted(), err
}

// copied returns a copy of what has been recorded so far, as recording continues.
func (r *Recorder) copied() (*importer.Recording, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	recording := &importer.Recording{Resource: r.resource}
	for _, server := range r.servers {
		recording.AddSource(server)
	}
	for _, why := range r.left {
		recording.Omit(why)
	}
	for _, op := range r.operations {
		if _, err := recording.AddOperation(op); err != nil {
			return nil, err
		}
	}
	for _, x := range r.unanswered {
		// Its client may have ended since. The write may have taken effect.
		lost := x.Exchange
		lost.Err = model.Unknown
		op, omitted, err := lost.Operation(r.reducer, nil)
		if err != nil || omitted != "" {
			recording.Omit(cmp.Or(omitted, omittedOddities))
		} else if _, err := recording.AddOperation(op); err != nil {
			return nil, err
		}
	}
	for _, s := range r.streams {
		open := *s
		open.Events = slices.Clone(s.Events)
		if err := recording.AddStream(open, false); err != nil {
			return nil, err
		}
	}
	if r.committed != nil {
		if err := recording.AddWorld(*r.committed, r.faults, r.reducer); err != nil {
			return nil, err
		}
	}
	return recording, nil
}

// World sets what only a simulation knows, for [importer.Recording.AddWorld], with times of
// the recorder's clock.
func (r *Recorder) World(committed model.Truth, faults []model.Fault) {
	r.locked(func() { r.committed, r.faults = &committed, faults })
}

// locked runs a piece of work that records.
func (r *Recorder) locked(record func()) {
	r.options.Do(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		record()
	})
}

// sentLocked records that a request has been sent.
func (r *Recorder) sentLocked(x *exchange) {
	if r.options.Tell != nil {
		r.options.Tell(&x.Told)
	}
	if op := (model.Operation{Kind: x.Kind}); x.Omitted == "" && op.IsWrite() {
		r.unanswered = append(r.unanswered, x)
	}
}

// omitLocked counts an omission.
func (r *Recorder) omitLocked(why string) {
	if len(r.left) < importer.MaxObjects {
		r.left = append(r.left, why)
	}
}

// hasRoomLocked reports whether that many more objects may be recorded, and counts them.
func (r *Recorder) hasRoomLocked(objects int) bool {
	if r.objects+objects > importer.MaxObjects {
		r.omitLocked(fmt.Sprintf("requests and events beyond the most that a recording holds, %d", importer.MaxObjects))
		return false
	}
	r.objects += objects
	return true
}

// The reasons why requests are omitted.
const (
	omittedEncoding = "responses that are neither JSON nor Kubernetes' protobuf nor CBOR, or are compressed"
	omittedOddities = "requests with an invalid response"
)

// transport records what passes through it.
type transport struct {
	recorder       *Recorder
	next           http.RoundTripper
	server, client string
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	asked, isResource, err := importer.ParseURL(request.URL)
	if !isResource || asked.Resource != t.recorder.resource {
		return t.next.RoundTrip(request)
	}
	x := &exchange{transport: t, Told: importer.Told{Exchange: importer.Exchange{
		Request: asked, Kind: kindOf(request.Method, asked), Client: t.client, Server: t.server, Agent: request.UserAgent(), Return: model.Pending,
	}}}
	switch sent, prefix := t.recorder.sentObject(request); request.Method {
	case http.MethodPut:
		x.Sent, x.SentUID = sent.RV, sent.UID
	case http.MethodPost:
		x.Scope.Name, x.GenerateName = sent.Name, prefix // a refusal does not have them
	}
	switch {
	case errors.Is(err, importer.ErrUnsupported):
		x.Omitted = importer.OmittedSelectors
	case err != nil:
		x.Omitted = omittedOddities
	case asked.DryRun, !importer.WholeObject[asked.Subresource], x.Kind == "":
		x.Omitted = importer.OmittedOthers
	}
	x.Call = t.recorder.options.Clock()
	t.recorder.locked(func() { t.recorder.sentLocked(x) })
	response, err := t.next.RoundTrip(request)
	if server := t.recorder.options.Server; server != nil {
		x.Server = server(request)
	}
	if err == nil {
		x.AuditID = response.Header.Get("Audit-Id")
	}
	switch {
	case err != nil:
		t.recorder.locked(func() { x.endLocked(0, nil, "") })
	case asked.Watch && response.StatusCode == http.StatusOK && x.Omitted == "":
		response.Body = x.watch(response)
	default:
		response.Body = &answer{ReadCloser: response.Body, exchange: x, code: response.StatusCode, encoding: encodingOf(response.Header)}
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the wrapped transport.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// sentObject returns the object in the body of a create or an update, or an empty one if it
// is unknown, and the prefix of its name if the server is to generate that. It reads a copy, if the request provides one.
func (r *Recorder) sentObject(request *http.Request) (object model.Object, prefix string) {
	if request.Method != http.MethodPut && request.Method != http.MethodPost || request.GetBody == nil {
		return object, ""
	}
	body, err := request.GetBody()
	if err != nil {
		return object, ""
	}
	defer body.Close()
	sent, err := io.ReadAll(io.LimitReader(body, importer.MaxValue))
	if err != nil {
		return object, ""
	}
	r.options.Do(func() {
		text, err := encodingOf(request.Header).asJSON(sent, nil)
		if err != nil {
			return
		}
		object, _ = importer.Reducer{Blind: true}.Object(text) // empty if it is not an object
		var unnamed struct{ Metadata struct{ GenerateName string } }
		if object.Name == "" && json.Unmarshal(text, &unnamed) == nil {
			prefix = unnamed.Metadata.GenerateName
		}
	})
	return object, prefix
}
