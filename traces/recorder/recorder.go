package recorder

import (
	"cmp"
	"crypto/rand"
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

// Options say what is kept.
type Options struct {
	// Bodies writes contents into the history instead of digests. Those of Secrets
	// are never written.
	Bodies bool
	// Labels keeps all labels, not only those that requests select by.
	Labels bool
	// Clock is the time in nanoseconds, which must never go back; nil for the wall clock of the start and what has
	// passed since. The times of a history are those of a clock that is given; without one it begins at 0 with its first record.
	Clock func() int64
	// Do runs each piece of work that records; nil runs it as it is. A simulation keeps
	// such work out of its schedule.
	Do func(record func())
	// Server names the server that a request has reached, once it is answered or has
	// failed; nil for the one that Wrap was told. With a load balancer nobody knows before.
	Server func(*http.Request) string
	// Tell is called with each request when it is sent, also with those that are not recorded.
	// The rest is filled in when the request is over, or a watch is open; until then Return is
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
	unanswered []*exchange // writes, in the order in which they were sent
	streams    []*model.Stream
	tokens     map[string]int // pages, to the IDs of the lists before them
	servers    []string
	left       []string
	objects    int
	committed  *model.Truth // what etcd says, nil if it was not asked
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

// Wrap returns a function that wraps a transport, as rest.Config.Wrap takes it. The
// names are those that the history has for the server and the client. A client is
// what has one view of the cluster, such as a process: what it saw from one server
// counts when it asks another.
func (r *Recorder) Wrap(server, client string) func(http.RoundTripper) http.RoundTripper {
	r.locked(func() { r.servers = append(r.servers, "recorded "+client+" of "+server) })
	return func(next http.RoundTripper) http.RoundTripper {
		return &transport{recorder: r, next: next, server: server, client: client}
	}
}

// History makes a history of what has been recorded up to now. The notes say what was
// left out and why. Recording goes on meanwhile.
func (r *Recorder) History() (header traces.Header, h *model.History, notes []string, err error) {
	recording, err := r.copied()
	if err != nil {
		return header, nil, nil, err
	}
	header, h, err = recording.History(importer.HistoryOptions{AllLabels: r.options.Labels, Clock: r.clocked})
	return header, h, recording.Omitted(), err
}

// copied is what has been recorded up to now, to be read while more is recorded.
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
		// Its client may have ended since. What it has sent may have been carried out.
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

// World tells what only a simulation knows, as [importer.Recording.AddWorld] takes it, with times of
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

// sentLocked notes that a request has been sent.
func (r *Recorder) sentLocked(x *exchange) {
	if r.options.Tell != nil {
		r.options.Tell(&x.Told)
	}
	if op := (model.Operation{Kind: x.Kind}); x.Omitted == "" && op.IsWrite() {
		r.unanswered = append(r.unanswered, x)
	}
}

// omitLocked counts what is left out.
func (r *Recorder) omitLocked(why string) {
	if len(r.left) < importer.MaxObjects {
		r.left = append(r.left, why)
	}
}

// hasRoomLocked reports whether that many more objects may be kept, and counts them.
func (r *Recorder) hasRoomLocked(objects int) bool {
	if r.objects+objects > importer.MaxObjects {
		r.omitLocked(fmt.Sprintf("requests and events beyond the most that a recording holds, %d", importer.MaxObjects))
		return false
	}
	r.objects += objects
	return true
}

// The reasons for which requests are left out.
const (
	omittedEncoding = "answers that are neither JSON nor Kubernetes' protobuf nor CBOR, or are compressed"
	omittedOddities = "requests whose answer makes no sense"
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
	switch sent := t.recorder.sentObject(request); request.Method {
	case http.MethodPut:
		x.Sent, x.SentUID = sent.RV, sent.UID
	case http.MethodPost:
		x.Scope.Name = sent.Name // which a refusal does not tell
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

// WrappedRoundTripper lets client-go find what is below.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// sentObject returns what is in the body of a create or an update, nothing if that is not
// known. It reads a copy, if the client has one to give.
func (r *Recorder) sentObject(request *http.Request) (object model.Object) {
	if request.Method != http.MethodPut && request.Method != http.MethodPost || request.GetBody == nil {
		return object
	}
	body, err := request.GetBody()
	if err != nil {
		return object
	}
	defer body.Close()
	sent, err := io.ReadAll(io.LimitReader(body, importer.MaxValue))
	if err != nil {
		return object
	}
	r.options.Do(func() {
		if text, err := encodingOf(request.Header).asJSON(sent, nil); err == nil {
			object, _ = importer.Reducer{Blind: true}.Object(text) // what is no object tells nothing
		}
	})
	return object
}
