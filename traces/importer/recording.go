package importer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/model"
)

// MaxObjects is the most objects in one recording, counting each occurrence in lists and
// events.
const MaxObjects = 5_000_000

// Recording is what sources have observed. Times are nanoseconds since 1970, by the
// clock of the source. The Value of an object is a digest by a [Reducer], empty if
// its content is unknown, and an object without a UID has no metadata but its name.
// The zero value is empty.
type Recording struct {
	// Resource is what it is about, such as pods or deployments.apps.
	Resource string

	operations []*model.Operation
	streams    []*recordedStream
	etcd       []*etcdPart
	faults     []model.Fault
	objects    int
	left       map[string]int
	sources    []string
	merged     merged
}

// recordedStream is a watch. If it is untimed, the times of its events are unknown.
type recordedStream struct {
	model.Stream
	untimed bool
}

// etcdPart is a part of what etcd committed.
type etcdPart struct {
	// Changes are in order of RV. Objects are as Reducer.Stored returns them,
	// or have no more than a name.
	Changes []model.Change
	// From and To say that all changes of the resource with an RV above From and up
	// to To are among them.
	From, To int64
	// State says that those with an RV up to From are the whole state at From.
	State bool
	// Compacted are revisions at which etcd is known to have been compacted.
	Compacted []int64
	// AllCompacted says that there were no other compactions.
	AllCompacted bool
}

// AddSource records the name of a source, for the header of the history.
func (r *Recording) AddSource(name string) { r.sources = append(r.sources, name) }

// Omit counts something that is omitted from the history, by reason.
func (r *Recording) Omit(why string) {
	if r.left == nil {
		r.left = map[string]int{}
	}
	r.left[why]++
}

// Omitted says what is omitted from the history and why, one note for each reason.
func (r *Recording) Omitted() []string {
	var notes []string
	for _, why := range slices.Sorted(maps.Keys(r.left)) {
		notes = append(notes, fmt.Sprintf("%d %s", r.left[why], why))
	}
	return notes
}

// AddOperation adds a request and its response, and returns its new ID.
func (r *Recording) AddOperation(op model.Operation) (int, error) {
	op.ID = len(r.operations) + 1
	r.operations = append(r.operations, &op)
	return op.ID, r.count(1 + len(op.Objects))
}

// AddStream adds a watch. If it is untimed, its times and those of its events are
// ignored.
func (r *Recording) AddStream(s model.Stream, untimed bool) error {
	s.ID = len(r.streams) + 1
	for i := range s.Events {
		s.Events[i].Stream = s.ID
	}
	r.streams = append(r.streams, &recordedStream{s, untimed})
	return r.count(1 + len(s.Events))
}

// addEtcd adds a part of the truth.
func (r *Recording) addEtcd(e etcdPart) error {
	r.etcd = append(r.etcd, &e)
	return r.count(len(e.Changes))
}

func (r *Recording) count(more int) error {
	if r.objects += more; r.objects > MaxObjects {
		return fmt.Errorf("expected at most %d objects, events and requests, found more; take a shorter time or one namespace", MaxObjects)
	}
	return nil
}

// AddWorld adds what only a simulation knows: everything that etcd committed since it was
// new, which is every change of any key, with the key as the object's name and the stored
// value as its value, and every compaction; and the faults. The recording must name its
// resource, which determines the keys in etcd. When the definition of a custom resource is
// deleted, an API server deletes all objects. Readable values are reduced like those that
// clients see, so that they can be compared.
func (r *Recording) AddWorld(committed model.Truth, faults []model.Fault, reducer Reducer) error {
	r.faults = append(r.faults, faults...)
	prefixes, definition := etcdPrefixes(r.Resource), "/"+storedElsewhere[definitions]+"/"+r.Resource
	part := etcdPart{To: committed.Revision, State: true, AllCompacted: true}
	for _, compaction := range committed.Compactions {
		part.Compacted = append(part.Compacted, compaction.RV)
	}
	for _, change := range committed.Changes {
		if change.Deleted && strings.HasSuffix(change.Object.Name, definition) {
			r.Omit(omittedUndefined)
		}
		key, is := keyOf(change.Object.Name, prefixes)
		if !is {
			continue
		}
		reducer.fillIn(&change, key, []byte(change.Object.Value))
		part.Changes = append(part.Changes, change)
	}
	return r.addEtcd(part)
}

// fillIn fills in the object of a change to a key of etcd: only its name if it is
// deleted, or if the stored value cannot be read.
func (r Reducer) fillIn(change *model.Change, key model.Key, stored []byte) {
	object, readable := r.Stored(stored)
	if change.Deleted || !readable || object.Key() != key {
		object = model.Object{Namespace: key.Namespace, Name: key.Name}
	}
	object.RV = change.RV
	change.Object = object
}
