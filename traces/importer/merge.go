package importer

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
)

// ErrNotOfCluster means that a history is not one that a recording has made.
var ErrNotOfCluster = errors.New("expected a history that was imported or recorded from a real cluster")

// Merge adds what the clients of another history saw, such as one that the recorder
// wrote. The truth in it is left behind: it is made anew of all sources.
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
		r.Omit(fmt.Sprintf("history that ends early, at %.40s: whoever recorded it was ended before it could write the rest", until))
	}
	m := merger{family: fmt.Sprintf("history%d", len(r.sources)), ids: map[int]int{}}
	if !began.IsZero() {
		m.began = began.UnixNano()
	}
	for i := range h.Operations {
		op := h.Operations[i]
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
		m.ids[h.Operations[i].ID] = id
	}
	for i := range h.Streams {
		s := h.Streams[i]
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

// objects gives objects the digests that their values were made of.
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
