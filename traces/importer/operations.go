package importer

import (
	"cmp"
	"math"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// The reasons why operations are omitted from a history.
const (
	omittedRefusals = "refused writes, and gets that found nothing: judging them requires all changes, from `etcdctl get` and `etcdctl watch`"
	omittedUnknown  = "writes whose outcome is unknown"
	omittedDoubtful = "refused deletes of objects that another write may have deleted"
	// omittedUndefined counts definitions.
	omittedUndefined = "deletions by an API server, with the definition of the resource"
	omittedDeletes   = "deletes whose response has no resourceVersion: finding their deletions requires all changes and all deletes"
)

// operations finishes the operations that can be judged by the truth.
func (f *finisher) operations() []model.Operation {
	r := f.truth.recording
	lost := r.lostWrites()
	others := r.othersWrote(f.truth, lost)
	f.nameDeletions(lost, others)
	writer, byOthers := f.writers(lost, others), f.deletedByOthers(others)
	clear := f.clearDeletes(byOthers)
	reached := r.reachedComplete()
	whole := map[int]bool{}
	for _, id := range slices.Concat(r.wholePages()...) {
		whole[id] = true
	}
	var kept []model.Operation
	for _, asked := range r.operations {
		op := *asked
		_, anotherLost := lost[op.Key()]
		isClear, unnamed := clear[op.Key()]
		refusal := op.Err == model.AlreadyExists || op.Err == model.Conflict || op.Err == model.NotFound
		switch {
		case op.IsWrite() && op.Err == model.Unknown:
			r.Omit(omittedUnknown)
			continue
		case op.Kind == model.Delete && op.Err != model.OK && (anotherLost || unnamed && !isClear || byOthers[op.Key()]):
			r.Omit(omittedDoubtful) // another write may have deleted it
			continue
		case refusal && op.Call <= reached:
			r.Omit(omittedRefusals)
			continue
		case op.Kind == model.Delete && op.Err == model.OK:
			if !f.finishDelete(&op, isClear) {
				r.Omit(omittedDeletes)
				continue
			}
			if op.Kind == model.Update && writer[op.ResultRV] != op.ID {
				asRead(&op) // the deletionTimestamp may have been set before
			}
		case op.IsWrite() && op.Err == model.OK && writer[op.ResultRV] != op.ID:
			asRead(&op)
		case op.IsWrite() && op.Kind != model.Delete:
			f.finishWrite(&op)
		}
		op.Objects = slices.Clone(op.Objects)
		for j := range op.Objects {
			op.Objects[j] = f.live(&op.Objects[j])
		}
		if op.Kind == model.List && !whole[op.ID] {
			op.Remaining = -1 // the content of the other pages is unknown
		}
		kept = append(kept, op)
	}
	return kept
}

// asRead turns a write that may have changed nothing into a read of the newest state, which it is in any case. If it did write
// the version that it returned, that was the newest one for an instant before it returned.
func asRead(op *model.Operation) {
	op.Kind, op.Touch = model.Get, true
	op.Scope = model.Scope{Namespace: op.Object.Namespace, Name: op.Object.Name}
	op.RV, op.Precondition, op.Object = model.RVUnset, 0, nil
}

// nameDeletions finds the RVs of deletes whose response has none: a Status with the UID of the deleted object, or the object as an update
// left it. If several such responses are about one object, it is unknown which request deleted it, because the registry also reports
// success to a request that lost the race. None of them deleted it if another delete returned that RV. An update counts only if no other
// request can have deleted the object first.
func (f *finisher) nameDeletions(lost map[model.Key]int64, others bool) {
	gone, claimed := map[string][]*model.Operation{}, map[int64]bool{}
	for _, op := range f.truth.recording.operations {
		switch {
		case op.Kind != model.Delete || op.Err != model.OK:
		case op.ResultRV != 0:
			claimed[op.ResultRV] = true
		case len(op.Objects) == 1:
			of := op.Objects[0]
			op.Objects = nil
			if _, isLost := lost[op.Key()]; of.RV == 0 || !others && !isLost {
				gone[of.UID] = append(gone[of.UID], op)
			}
		}
	}
	for uid, deletes := range gone {
		if rv := f.truth.deletionOf(deletes[0].Key(), uid); len(deletes) == 1 && !claimed[rv] {
			deletes[0].ResultRV = rv
		}
	}
}

// writers says which operation wrote each revision, because a write that changes nothing
// returns the stored object. A create always writes. An update, or a delete that sets a
// deletionTimestamp, can have written a revision only if that was not its precondition and nobody
// had observed it, or a later one, when it was called. Of two candidates, the one whose precondition is the version before wrote
// it: the other one found its content already stored. Otherwise the one that was called first did. Without a precondition, a
// write may return what a write of unknown outcome, or one that was not recorded, has written.
func (f *finisher) writers(lost map[model.Key]int64, others bool) map[int64]int {
	writer := map[int64]int{}
	newest := f.truth.recording.newestBefore()
	all := f.truth.recording.operations
	rank := func(op *model.Operation) int {
		switch {
		case op.Kind == model.Create:
			return 0
		case op.Precondition > 0 && f.truth.follows(op.Key(), op.Precondition, op.ResultRV):
			return 1
		case op.Precondition == 0:
			return 2
		}
		return 3
	}
	for _, op := range all {
		if !op.IsWrite() || op.Err != model.OK || op.Precondition == op.ResultRV {
			continue
		}
		if op.Kind != model.Create && newest(op.Call) >= op.ResultRV {
			continue
		}
		if called, known := lost[op.Key()]; op.Kind != model.Create && op.Precondition == 0 && (others || known && called < op.Return) {
			continue
		}
		before := writer[op.ResultRV]
		if before == 0 || cmp.Or(cmp.Compare(rank(op), rank(all[before-1])), cmp.Compare(op.Call, all[before-1].Call)) < 0 {
			writer[op.ResultRV] = op.ID
		}
	}
	return writer
}

// lostWrites returns, by object, when the first write of unknown outcome was called. It may
// have taken effect at any time since.
func (r *Recording) lostWrites() map[model.Key]int64 {
	lost := map[model.Key]int64{}
	for _, op := range r.operations {
		if first, known := lost[op.Key()]; op.IsWrite() && op.Err == model.Unknown && (!known || op.Call < first) {
			lost[op.Key()] = op.Call
		}
	}
	return lost
}

// newestBefore returns a function that returns the newest revision of any object that anybody had observed by a time.
func (r *Recording) newestBefore() func(time int64) int64 {
	var all []model.Moment
	see := func(rv, at int64) {
		if at != model.Pending {
			all = append(all, model.Moment{Time: at, RV: rv})
		}
	}
	for _, op := range r.operations {
		if op.Err == model.OK {
			see(op.ResultRV, op.Return)
		}
	}
	for _, s := range r.streams {
		for i := range s.Events {
			if e := &s.Events[i]; e.Object != nil && !s.untimed {
				see(e.RV, e.Time)
			}
		}
	}
	observed := model.NewStaircase(all)
	return func(time int64) int64 {
		newest, _ := observed.Before(time + 1)
		return newest.RV
	}
}

// finishWrite gives a create or update the content of the version that it made. If it
// made no version in etcd, the content is unique.
func (f *finisher) finishWrite(op *model.Operation) {
	object := *op.Object
	object.RV = op.ResultRV
	if v := f.truth.at(object.Key(), op.ResultRV); op.Err == model.OK && v != nil && !v.deleted {
		object = v.object
		object.Labels = f.filter(object.Labels)
	} else {
		object.Value, object.Labels = valueOf("write-"+op.Client+":"+string(op.Kind), -int64(op.ID)), f.filter(object.Labels)
	}
	object.RV = 0
	op.Object = &object
}

// finishDelete determines what an acknowledged delete did: if a deletion has its RV, it
// deleted; if a live version has, it set the deletionTimestamp, which is an update.
// Without an RV it can be judged only if all deletes are known: see clearDeletes.
func (f *finisher) finishDelete(op *model.Operation, isClear bool) bool {
	key := op.Key()
	if op.ResultRV == 0 {
		return isClear
	}
	v := f.truth.at(key, op.ResultRV)
	if v == nil || !v.committed {
		return false
	}
	if !v.deleted {
		op.Kind = model.Update
		op.Object = &model.Object{Namespace: key.Namespace, Name: key.Name}
		f.finishWrite(op)
	}
	return true
}

// clearDeletes says, for each object with deletes whose response has no revision, whether
// all such deletes can be judged: there is one for every deletion that etcd committed, and
// no other request may have made one, such as a write of unknown outcome. Otherwise some deleted nothing: they set the
// deletionTimestamp, or found the object gone. A deletion whose RV a delete returned belongs to that delete.
func (f *finisher) clearDeletes(byOthers map[model.Key]bool) map[model.Key]bool {
	r := f.truth.recording
	count, named, lost := map[model.Key]int{}, map[int64]bool{}, map[model.Key]bool{}
	for _, op := range r.operations {
		switch {
		case (op.Kind == model.Delete || op.Kind == model.Update) && op.Err == model.Unknown:
			lost[op.Key()] = true
		case op.Kind != model.Delete || op.Err != model.OK:
		case op.ResultRV == 0:
			count[op.Key()]++
		default:
			named[op.ResultRV] = true
		}
	}
	_, _, complete := r.complete()
	all := map[model.Key]bool{}
	for key, deletes := range count {
		committed := 0
		for _, v := range f.truth.versions[key] {
			if v.deleted && !v.expired && !named[v.rv] {
				committed++
			}
		}
		all[key] = complete && deletes == committed && !byOthers[key] && !lost[key]
	}
	return all
}

// othersWrote reports whether there are writes that the recording lacks: it omitted requests that also write (to
// subresources, or deletions of collections), an API server deleted all objects, or etcd has a write, newer than the oldest one recorded, that no recorded
// request can have made.
func (r *Recording) othersWrote(truth *truth, lost map[model.Key]int64) bool {
	if r.left[OmittedOthers]+r.left[omittedCollections]+r.left[omittedSubresource]+r.left[omittedUndefined] > 0 {
		return true
	}
	named, oldest := r.namedByWrites()
	for key, versions := range truth.versions {
		_, isLost := lost[key]
		if !isLost && slices.ContainsFunc(versions, func(v *version) bool { return !v.deleted && !named[v.rv] && v.rv > oldest }) {
			return true
		}
	}
	return false
}

// namedByWrites returns the RVs that writes returned, and the oldest of them.
func (r *Recording) namedByWrites() (named map[int64]bool, oldest int64) {
	named, oldest = map[int64]bool{}, int64(math.MaxInt64)
	for _, op := range r.operations {
		if op.IsWrite() && op.Err == model.OK && op.ResultRV > 0 {
			named[op.ResultRV], oldest = true, min(oldest, op.ResultRV)
		}
	}
	return named, oldest
}

// deletedByOthers says which objects were deleted at a revision that no recorded write returned, if others wrote.
func (f *finisher) deletedByOthers(others bool) map[model.Key]bool {
	if !others {
		return nil
	}
	named, _ := f.truth.recording.namedByWrites()
	by := map[model.Key]bool{}
	for key, versions := range f.truth.versions {
		by[key] = slices.ContainsFunc(versions, func(v *version) bool { return v.deleted && !v.expired && !named[v.rv] })
	}
	return by
}

// reachedComplete returns a time by which etcd had certainly reached the revision from
// which its output is complete.
func (r *Recording) reachedComplete() int64 {
	from, _, ok := r.complete()
	time := int64(math.MaxInt64)
	switch {
	case !ok:
		return time
	case from == 0:
		return math.MinInt64 // it is complete from etcd's first revision
	}
	for _, op := range r.operations {
		if op.Err == model.OK && op.Return != model.Pending && op.ResultRV >= from {
			time = min(time, op.Return)
		}
	}
	return time
}

// wholePages returns the IDs of the pages of each list of which all were recorded.
func (r *Recording) wholePages() [][]int {
	next := map[int]int{}
	for _, op := range r.operations {
		if op.Kind == model.List && op.Continues != 0 && op.Err == model.OK {
			next[op.Continues] = op.ID
		}
	}
	var whole [][]int
	for _, op := range r.operations {
		if op.Kind != model.List || op.Continues != 0 || op.Err != model.OK {
			continue
		}
		pages := []int{op.ID}
		for op.HasMore && next[op.ID] != 0 {
			op = r.operations[next[op.ID]-1]
			pages = append(pages, op.ID)
		}
		if !op.HasMore {
			whole = append(whole, pages)
		}
	}
	return whole
}
