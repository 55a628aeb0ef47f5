package importer

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
)

// ErrNotOfCluster means that a history was not made from a recording.
var ErrNotOfCluster = errors.New("expected a history that was imported or recorded from a real cluster")

// Merge adds the requests and streams of another history, such as one of the recorder.
// Its truth is dropped, because the truth is derived from all sources together.
func (r *Recording) Merge(header traces.Header, h *model.History) error {
	if header.Attributes[traces.AttributeTruth] == "" {
		return ErrNotOfCluster
	}
	began, err := time.Parse(time.RFC3339Nano, header.Attributes[traces.AttributeBegan])
	if err != nil && header.Attributes[traces.AttributeBegan] != "" {
		return fmt.Errorf("%w, whose header says when it began, found %q", ErrNotOfCluster, header.Attributes[traces.AttributeBegan])
	}
	switch resource := header.Attributes[traces.AttributeResource]; {
	case r.Resource == "":
		r.Resource = resource
	case resource != "" && resource != r.Resource:
		return fmt.Errorf("expected a history about %s, found one about %.60s", r.Resource, resource)
	}
	if until := header.Attributes[traces.AttributeUnfinished]; until != "" {
		r.Omit(fmt.Sprintf("history that ends early, at %.40s: its recorder ended before it could write the rest", until))
	}
	m := merger{family: fmt.Sprintf("history%d", len(r.sources)), ids: map[int]int{}}
	if !began.IsZero() {
		m.began = began.UnixNano()
	}
	for _, op := range h.Operations {
		op.Call, op.Return = m.at(op.Call), m.at(op.Return)
		op.Continues = m.ids[op.Continues]
		if op.Object != nil {
			op.Object = &model.Object{Namespace: op.Object.Namespace, Name: op.Object.Name}
		}
		op.Objects = m.objects(op.Objects)
		id, err := r.AddOperation(op)
		if err != nil {
			return err
		}
		m.ids[op.ID] = id
		r.merged.note(r.operations[id-1])
	}
	for _, s := range h.Streams {
		s.ResumesList, s.ResumesStream = 0, 0
		s.Call, s.Return, s.Closed = m.at(s.Call), m.at(s.Return), m.at(s.Closed)
		events := make([]model.Event, len(s.Events))
		for j, event := range s.Events {
			event.Time = m.at(event.Time)
			if event.Object != nil {
				event.Object = &m.objects([]model.Object{*event.Object})[0]
			}
			events[j] = event
		}
		s.Events = events
		if err := r.AddStream(s, m.began == 0); err != nil {
			return err
		}
	}
	return nil
}

// merger translates one history.
type merger struct {
	family string
	began  int64
	ids    map[int]int
}

func (m *merger) at(time int64) int64 {
	if time == model.Pending {
		return time
	}
	return time + m.began
}

// objects gives objects the digests in their values.
func (m *merger) objects(objects []model.Object) []model.Object {
	var changed []model.Object
	for _, object := range objects {
		digest, _, _ := strings.Cut(object.Value, "@")
		object.Value = ""
		if digest != "unknown" && digest != "" {
			object.Value = m.family + ":" + digest
		}
		changed = append(changed, object)
	}
	return changed
}

// merged are the requests of histories that were merged. The audit log of their server
// has the same requests, which must not count twice: otherwise one client's observation
// would look like that of two.
type merged struct {
	servers map[string]bool
	// requests are the IDs of those that differ only in their times.
	requests map[[sha256.Size]byte][]int
}

func (m *merged) note(op *model.Operation) {
	if m.requests == nil {
		m.servers, m.requests = map[string]bool{}, map[[sha256.Size]byte][]int{}
	}
	m.servers[op.Server] = true
	alike := likeness(op)
	m.requests[alike] = append(m.requests[alike], op.ID)
}

// likeness identifies a request and its response apart from times. If those of a client
// and a server are the same and the times agree, they are one request.
func likeness(op *model.Operation) [sha256.Size]byte {
	hash := sha256.New()
	fmt.Fprintf(hash, "%q %q %q %q %d %q %d %t %q %d", op.Kind, op.Key(), op.Selector.Labels, op.Selector.Node, op.RV, op.Match, op.Limit, op.Continues != 0, op.Err, op.ResultRV)
	for i := range op.Objects {
		fmt.Fprintf(hash, " %q %d", op.Objects[i].Key(), op.Objects[i].RV)
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

// stampDelay is how long after the client received a response the server may record that
// it has written it: on a busy machine it may not be scheduled in between.
const stampDelay = 500 * time.Millisecond

// takeMerged returns the ID of the request of a merged history that an entry of an
// audit log is about, 0 if there is none. The client's interval contains the server's, except
// for what the server does after its response. Each request is taken once. A history without
// the name of the log's server may have another name for it.
func (r *Recording) takeMerged(op *model.Operation, skew time.Duration) int {
	alike := likeness(op)
	ids := r.merged.requests[alike]
	i := slices.IndexFunc(ids, func(id int) bool {
		asked := r.operations[id-1]
		return (asked.Server == op.Server || !r.merged.servers[op.Server]) &&
			asked.Call-skew.Nanoseconds() <= op.Call && (asked.Return == model.Pending || op.Return <= asked.Return+(skew+stampDelay).Nanoseconds())
	})
	if i < 0 {
		return 0
	}
	id := ids[i]
	r.merged.requests[alike] = slices.Delete(ids, i, i+1)
	return id
}
