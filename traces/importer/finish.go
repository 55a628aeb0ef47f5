package importer

import (
	"maps"

	"github.com/watchsim/watchsim/model"
)

// finisher makes the objects of the history.
type finisher struct {
	truth *truth
	// labels are those that requests select by; nil keeps all.
	labels map[string]bool
}

// live finishes an object that was observed at the version of its RV.
func (f *finisher) live(object *model.Object) model.Object {
	return f.finish(object, f.truth.at(object.Key(), object.RV))
}

// last finishes the object of a deletion, which is the version before the deletion.
func (f *finisher) last(object *model.Object) model.Object {
	return f.finish(object, f.truth.current(object.Key(), object.RV-1))
}

// finish gives an object the value of its version if the contents agree, and a value
// that no version has otherwise. What the source does not show is assumed to be
// right.
func (f *finisher) finish(object *model.Object, v *version) model.Object {
	done := *object
	if v == nil || v.deleted {
		done.Labels, done.Value = f.filter(done.Labels), valueOf(object.Value, object.RV)
		return done
	}
	if done.UID == "" {
		done.UID, done.Labels, done.Node = v.object.UID, v.object.Labels, v.object.Node
	}
	switch {
	case object.Value == "":
		done.Node, done.Value = v.object.Node, v.object.Value
	case v.digests[family(object.Value)] == object.Value:
		done.Value = v.object.Value
	default:
		done.Value = valueOf(object.Value, v.rv)
	}
	done.Labels = f.filter(done.Labels)
	return done
}

// filter returns the labels that are kept.
func (f *finisher) filter(labels map[string]string) map[string]string {
	if f.labels == nil {
		return labels
	}
	kept := maps.Clone(labels)
	maps.DeleteFunc(kept, func(name, _ string) bool { return !f.labels[name] })
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// selectedLabels returns the labels that requests select by.
func (r *Recording) selectedLabels() map[string]bool {
	names := map[string]bool{}
	note := func(s model.Selector) {
		for name := range s.Labels {
			names[name] = true
		}
	}
	for _, op := range r.operations {
		note(op.Selector)
	}
	for _, s := range r.streams {
		note(s.Selector)
	}
	return names
}
