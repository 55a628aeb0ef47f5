package importer

import (
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/watchsim/watchsim/model"
)

// truth is what etcd committed, as far as any source observed it.
type truth struct {
	recording *Recording
	// versions are in order of RV.
	versions map[model.Key][]*version
	// used says which object changed at a revision. Only an expired lease, which etcd's output tells, changes more than one.
	used map[int64]model.Key
	// ranges are those that streams prove: see infer.go.
	ranges []proven
	facts  map[model.Key]*facts
}

// version is the state of an object after one change.
type version struct {
	rv      int64
	deleted bool
	// object has the metadata, if known. See [truth.settle] for its value.
	object model.Object
	// committed says that etcd's output has it, expired that its lease deleted it, and stored is the digest of its content there.
	committed, expired bool
	stored             string
	// seen counts the digests that sources observed, in order of first observation.
	seen []vote
	// digests has the chosen digest of each family.
	digests map[string]string
}

// newTruth returns the truth of a recording, the clocks of whose sources may differ by skew.
func newTruth(r *Recording, skew time.Duration) *truth {
	t := &truth{recording: r, versions: map[model.Key][]*version{}, used: map[int64]model.Key{}, facts: map[model.Key]*facts{}}
	for _, e := range r.etcd {
		for j := range e.Changes {
			t.commit(&e.Changes[j])
		}
	}
	r.eachSight(t.sight)
	r.eachDeletion(t.deletion)
	t.gatherFacts(skew)
	t.infer()
	t.settle()
	return t
}

// keys returns the keys in order.
func (t *truth) keys() []model.Key {
	return slices.SortedFunc(maps.Keys(t.versions), model.Key.Compare)
}

// commit adds a change in etcd's output.
func (t *truth) commit(change *model.Change) {
	key := change.Object.Key()
	v := t.at(key, change.RV)
	if v == nil {
		v = t.insert(key, change.RV, change.Deleted)
	}
	v.committed, v.expired, v.stored = true, change.Expired, change.Object.Value
	v.learn(&change.Object)
}

// sight adds an observed version, unless etcd's output rules it out.
func (t *truth) sight(s sight) {
	key := s.object.Key()
	if t.known(key, s.rv) || s.rv <= 0 {
		return
	}
	if v := t.add(key, s.rv, false); v != nil {
		v.learn(s.object)
	}
}

// deletion adds an observed deletion. A stream with a selector also delivers DELETED
// if an object no longer matches, so a live version takes precedence.
func (t *truth) deletion(s sight) {
	if key := s.object.Key(); !t.known(key, s.rv) && s.rv > 0 {
		t.add(key, s.rv, true)
	}
}

// add adds a version, or returns the existing one; nil if another object changed at that
// revision.
func (t *truth) add(key model.Key, rv int64, deleted bool) *version {
	if v := t.at(key, rv); v != nil {
		return v
	}
	if _, taken := t.used[rv]; taken {
		return nil
	}
	return t.insert(key, rv, deleted)
}

func (t *truth) insert(key model.Key, rv int64, deleted bool) *version {
	t.used[rv] = key
	v := &version{rv: rv, deleted: deleted, object: model.Object{Namespace: key.Namespace, Name: key.Name, RV: rv}}
	t.versions[key] = slices.Insert(t.versions[key], t.after(key, rv), v)
	return v
}

// deletionOf returns the revision at which an object was deleted, 0 if unknown.
func (t *truth) deletionOf(key model.Key, uid string) int64 {
	was := ""
	for _, v := range t.versions[key] {
		switch {
		case !v.deleted:
			was = v.object.UID
		case v.committed && was == uid:
			return v.rv
		}
	}
	return 0
}

// after returns the index of the first version after a revision.
func (t *truth) after(key model.Key, rv int64) int {
	versions := t.versions[key]
	return sort.Search(len(versions), func(i int) bool { return versions[i].rv > rv })
}

// at returns the version of exactly that revision, nil if there is none.
func (t *truth) at(key model.Key, rv int64) *version {
	if v := t.current(key, rv); v != nil && v.rv == rv {
		return v
	}
	return nil
}

// current returns the version that was current at a revision, nil if there is none.
func (t *truth) current(key model.Key, rv int64) *version {
	if i := t.after(key, rv); i > 0 {
		return t.versions[key][i-1]
	}
	return nil
}

// follows reports whether the version at rv is the next one of its object after the one at before.
func (t *truth) follows(key model.Key, before, rv int64) bool {
	v := t.current(key, rv-1)
	return v != nil && v.rv == before && t.at(key, rv) != nil
}

// next returns the first version after a revision, nil if there is none.
func (t *truth) next(key model.Key, rv int64) *version {
	if i := t.after(key, rv); i < len(t.versions[key]) {
		return t.versions[key][i]
	}
	return nil
}

// known reports whether etcd's output is complete for an object at a revision.
func (t *truth) known(key model.Key, rv int64) bool {
	for _, e := range t.recording.etcd {
		if rv > e.From && rv <= e.To {
			return true
		}
		if !e.State || rv > e.From {
			continue
		}
		// The state at From was last changed at its RV, so there was no later change.
		if v := t.current(key, e.From); v != nil && v.committed && !v.deleted && v.rv < rv {
			return true
		}
	}
	return false
}

// complete returns the range of revisions for which etcd's output is complete, starting
// with a state; false if there is none.
func (r *Recording) complete() (from, to int64, ok bool) {
	for _, e := range r.etcd {
		if e.State {
			from, to, ok = e.From, e.From, true
		}
	}
	if !ok {
		return 0, 0, false
	}
	for range r.etcd {
		for _, e := range r.etcd {
			if e.From <= to {
				to = max(to, e.To)
			}
		}
	}
	return from, to, to > from
}

// learn copies metadata from an object, if it has some that are not known yet.
func (v *version) learn(object *model.Object) {
	if v.object.UID == "" && object.UID != "" {
		v.object.UID, v.object.Labels, v.object.Node = object.UID, object.Labels, object.Node
	}
	if v.object.Node == "" {
		v.object.Node = object.Node
	}
}

// sight is an observed object, at the version of its RV; in a deletion, at the version
// before.
type sight struct {
	object *model.Object
	rv     int64
}

// eachSight calls a function for each observed live version.
func (r *Recording) eachSight(do func(sight)) {
	for _, op := range r.operations {
		if op.Err != model.OK || op.Kind == model.Delete {
			continue
		}
		for j := range op.Objects {
			do(sight{&op.Objects[j], op.Objects[j].RV})
		}
		if op.IsWrite() && op.Precondition > 0 {
			do(sight{&model.Object{Namespace: op.Object.Namespace, Name: op.Object.Name}, op.Precondition})
		}
	}
	for _, s := range r.streams {
		for j := range s.Events {
			if e := &s.Events[j]; e.Object != nil && (e.Type == model.Added || e.Type == model.Modified) {
				do(sight{e.Object, e.RV})
			}
		}
	}
}

// eachDeletion calls a function for each observed deletion, those that are certainly
// one first.
func (r *Recording) eachDeletion(do func(sight)) {
	for _, certain := range []bool{true, false} {
		for _, s := range r.streams {
			if s.Selector.Empty() != certain {
				continue
			}
			for j := range s.Events {
				if e := &s.Events[j]; e.Object != nil && e.Type == model.Deleted {
					do(sight{e.Object, e.RV})
				}
			}
		}
	}
}
