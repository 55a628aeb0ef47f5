package workload

import (
	"fmt"
	"time"

	"github.com/watchsim/watchsim/model"
)

// The values of Config.Mix besides the usual one, which is "".
const (
	MixChurn       = "churn"
	MixUpdates     = "updates"
	MixControllers = "controllers"
)

// maxModify bounds the time between a writer's read of an object and its write back.
const maxModify = 50 * time.Millisecond

// writer creates, updates and deletes objects, one request at a time.
type writer struct {
	client
	values int // how many values it has written
}

func (w *writer) run(schedule []time.Duration) { w.follow(w.working, schedule, w.act) }

// act makes, or tries to make, one change and returns the number of requests.
func (w *writer) act(int) int {
	server, key := w.anyServer(), w.catalog.key(w.random)
	known, exists := w.knowledge.objects[key]
	switch w.catalog.config.Mix {
	case MixChurn:
		// Objects are deleted and created again under the same name.
		if exists && !oneIn(w.random, 4) {
			return w.delete(server, key, 0)
		}
	case MixUpdates:
		if exists && !oneIn(w.random, 20) {
			return w.readModifyWrite(server, key)
		}
	case MixControllers:
		if exists && oneIn(w.random, 2) {
			return w.control(server, key, known)
		}
	}
	if oneIn(w.random, 8) {
		// Sometimes a writer is wrong about what exists.
		exists = !exists
	}
	if !exists {
		if oneIn(w.random, 2) {
			return w.readModifyWrite(server, key)
		}
		return w.create(server, key)
	}
	switch choice := w.random.IntN(10); {
	case choice < 3:
		return w.update(server, key, "", 0)
	case choice < 5:
		return w.update(server, key, known.UID, known.RV)
	case choice < 7:
		return w.readModifyWrite(server, key)
	case choice < 9:
		return w.delete(server, key, 0)
	default:
		return w.delete(server, key, known.RV)
	}
}

// control makes a request as controllers do: an update that changes nothing or a label, a deletion of
// exactly the observed object, in two steps if it has a finalizer, or an update of it whatever its
// RV.
func (w *writer) control(server *session, key model.Key, known model.Object) int {
	switch w.random.IntN(5) {
	case 4:
		return w.finalize(server, key, known)
	case 0, 1:
		op := of(model.Get, key)
		op.Touch, op.Patch = true, w.catalog.patch(w.random)
		w.do(server, op, "")
	case 2:
		op := of(model.Delete, key)
		if known.UID != "" {
			op.Object = &model.Object{Namespace: key.Namespace, Name: key.Name, UID: known.UID}
		}
		w.do(server, op, "")
	default:
		return w.update(server, key, known.UID, 0)
	}
	return 1
}

// finalize deletes an object that has a finalizer: first an update sets its deletionTimestamp, and
// later, through any server, another one removes the finalizer and so the object.
func (w *writer) finalize(server *session, key model.Key, known model.Object) int {
	update, marked := of(model.Update, key), w.newObject(key)
	marked.UID = known.UID
	if marked.Labels == nil {
		marked.Labels = map[string]string{}
	}
	marked.Labels[model.FinalizingLabel] = "true"
	update.Object = marked
	w.do(server, update, "")
	if update.Err != model.OK || !sleep(w.working, drawDuration(w.random, maxModify)) {
		return 1
	}
	return 1 + w.delete(w.anyServer(), key, update.ResultRV)
}

// newObject draws a state with a unique value.
func (w *writer) newObject(key model.Key) *model.Object {
	w.values++
	return w.catalog.object(w.random, key, fmt.Sprintf("%s-%d", w.name, w.values))
}

// of returns an operation on one object, without an RV.
func of(kind model.Kind, key model.Key) *model.Operation {
	return &model.Operation{Kind: kind, Scope: model.Scope(key), RV: model.RVUnset}
}

func (w *writer) create(server *session, key model.Key) int {
	op := of(model.Create, key)
	op.Object = w.newObject(key)
	w.do(server, op, "")
	return 1
}

// update writes a new state: unconditionally if precondition is 0, otherwise only over
// the state with that RV.
func (w *writer) update(server *session, key model.Key, uid string, precondition int64) int {
	op := of(model.Update, key)
	op.Object, op.Precondition = w.newObject(key), precondition
	op.Object.UID = uid
	w.do(server, op, "")
	return 1
}

func (w *writer) delete(server *session, key model.Key, precondition int64) int {
	op := of(model.Delete, key)
	op.Precondition = precondition
	w.do(server, op, "")
	return 1
}

// readModifyWrite reads the object, in half of the cases from the cache and possibly
// stale, and writes it back unless it has changed.
func (w *writer) readModifyWrite(server *session, key model.Key) int {
	read := of(model.Get, key)
	if oneIn(w.random, 2) {
		read.RV = 0
	}
	w.do(server, read, "")
	if read.Err != model.OK || len(read.Objects) == 0 {
		return 1
	}
	if !sleep(w.working, drawDuration(w.random, maxModify)) {
		return 1
	}
	return 1 + w.update(w.anyServer(), key, read.Objects[0].UID, read.Objects[0].RV)
}
