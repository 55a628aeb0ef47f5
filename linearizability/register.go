package linearizability

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/watchsim/watchsim/model"
)

// judgeWrites judges Linearizable and Preconditions: porcupine searches, for each
// object, an order of its calls that real time allows and that makes the versions that
// etcd committed, in sequence. The search is small, because nearly every write is known
// to make one version.
func judgeWrites(f *facts, out *findings) {
	out.add(&f.claims.findings)
	judgeRealTime(f, out)
	judgeConflicts(f, out)
	specification, operations := f.claims.searched(func(calls []*call) []porcupine.Operation { return toSearch(calls, nil) })
	switch order(specification, operations, f.config.SearchTimeout) {
	case porcupine.Ok:
		return
	case porcupine.Unknown:
		out.searchGaveUp(f.config.SearchTimeout)
	case porcupine.Illegal:
		for _, r := range f.claims.registers {
			r.explain(f.config.SearchTimeout, out)
		}
	}
}

func (o *findings) searchGaveUp(limit time.Duration) {
	o.undecided(SearchGaveUp, "the search for a linearization took longer than SearchTimeout, %s", limit)
}

// searched returns what porcupine searches: the operations that operationsOf makes of the calls, and the model,
// which is partitioned by object.
func (all claims) searched(operationsOf func([]*call) []porcupine.Operation) (porcupine.Model, []porcupine.Operation) {
	var operations []porcupine.Operation
	partitions := make([][]porcupine.Operation, 0, len(all.registers))
	for _, r := range all.registers {
		if len(r.calls) == 0 {
			continue
		}
		first := len(operations)
		operations = append(operations, operationsOf(r.calls)...)
		partitions = append(partitions, operations[first:len(operations):len(operations)])
	}
	specification := registerModel
	specification.Partition = func([]porcupine.Operation) [][]porcupine.Operation { return partitions }
	return specification, operations
}

// judgeRealTime judges the order of writes to different objects, which a search by
// object does not check.
func judgeRealTime(f *facts, out *findings) {
	for _, w := range f.claims.writes {
		rv, before := f.bounds.minRVFor(w.op)
		switch {
		case rv <= w.rv:
			f.judgeUnseen(Linearizable, w.op, w.rv, out)
		case before.Key() != w.op.Key() || before.Return == w.op.Call:
			out.violate(Linearizable, againstRealTime, about(w.op, w.rv, rv).after(before))
		}
	}
}

// registerModel is porcupine's model of one object. Its state is the number of versions
// made so far.
var registerModel = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, _ any) (bool, any) {
		made, call := state.(int), input.(*call)
		ok, next := call.step(made)
		if next == made {
			return ok, state // avoids boxing the same number again
		}
		return ok, next
	},
	Hash: func(state any) uint64 { return uint64(state.(int)) * 0x9e3779b97f4a7c15 },
}

// each returns an operation for each call.
func each(calls []*call) []porcupine.Operation {
	operations := make([]porcupine.Operation, len(calls))
	for i, c := range calls {
		operations[i] = porcupine.Operation{Input: c, Call: c.begin, Return: c.end}
	}
	return operations
}

// toSearch returns the operations to search for an order of all writes and of the reads that have returned, which
// are all reads if returned is nil. A write that has not returned may take effect at any later time.
//
// A read that shows how many versions had been made is left out if the writes are known that made the last of them
// and the next one: it only narrows their intervals, as the former took effect before the read returned, and the
// latter after it was called. A search that placed such reads would try all subsets of those that overlap.
func toSearch(calls []*call, returned []bool) []porcupine.Operation {
	operations := make([]porcupine.Operation, 0, len(calls))
	makers := map[int]int{} // the operation that makes a version
	for i, c := range calls {
		if c.effect == observes {
			continue
		}
		if c.effect == makesVersion {
			makers[c.version] = len(operations)
		}
		end := c.end
		if returned != nil && !returned[i] {
			end = math.MaxInt64
		}
		operations = append(operations, porcupine.Operation{Input: c, Call: c.begin, Return: end})
	}
	for i, c := range calls {
		if c.effect != observes || returned != nil && !returned[i] {
			continue
		}
		made, known := c.saw()
		last, lastKnown := makers[made-1]
		next, nextKnown := makers[made]
		if !known || made > 0 && !lastKnown || made < len(c.register.versions) && !nextKnown {
			operations = append(operations, porcupine.Operation{Input: c, Call: c.begin, Return: c.end})
			continue
		}
		if lastKnown {
			operations[last].Return = min(operations[last].Return, c.end)
		}
		if nextKnown {
			operations[next].Call = max(operations[next].Call, c.begin)
		}
	}
	return operations
}

// order searches for an order. There is none if reads leave a write an empty interval.
func order(specification porcupine.Model, operations []porcupine.Operation, limit time.Duration) porcupine.CheckResult {
	if slices.ContainsFunc(operations, func(o porcupine.Operation) bool { return o.Call > o.Return }) {
		return porcupine.Illegal
	}
	return porcupine.CheckOperationsTimeout(specification, operations, limit)
}

// saw returns how many versions had been made when a read took effect, if its result allows only one number.
func (c *call) saw() (made int, known bool) {
	for n := c.minMade; n <= c.maxMade; n++ {
		if c.agrees(c.register.current(n)) {
			if known {
				return 0, false
			}
			made, known = n, true
		}
	}
	return made, known
}

// current returns the object after the given number of versions, nil if it does not exist.
func (r *register) current(made int) *model.Object {
	if made == 0 {
		return nil
	}
	return r.versions[made-1].Object
}

// step reports whether the call can take effect when made versions have been made,
// and how many there are after it.
func (c *call) step(made int) (bool, int) {
	versions, current := c.register.versions, c.register.current(made)
	switch c.effect {
	case observes:
		return c.minMade <= made && made <= c.maxMade && c.agrees(current), made
	case makesVersion:
		return c.version == made && c.allowed(current), made + 1
	default:
		if made < len(versions) && versions[made].Object == nil && !c.register.claimed[made] && c.allowed(current) {
			return true, made + 1
		}
		// A delete without effect is tried at the end only: it says nothing about
		// the state, so its place does not matter.
		return c.effect == mayDelete && made == len(versions), made
	}
}

// allowed reports whether a write may succeed, given the state of the object before
// it.
func (c *call) allowed(current *model.Object) bool {
	if c.op == nil {
		return true
	}
	if c.op.Kind == model.Create {
		return current == nil
	}
	return current != nil && meets(c.op, current)
}

// agrees reports whether a response is consistent with the state of the object.
func (c *call) agrees(current *model.Object) bool {
	switch c.op.Err {
	case model.NotFound:
		return current == nil
	case model.AlreadyExists:
		return current != nil
	case model.Conflict:
		// Without a precondition the write lost a race to another one, which the
		// state does not show. An update of an object that does not exist also conflicts if updates may create it
		// (rest.UpdateStrategy.AllowCreateOnUpdate, as of endpoints and leases): a new object has no revision yet.
		return c.op.Precondition == 0 || current == nil && c.op.Kind == model.Update || current != nil && !meets(c.op, current)
	}
	if current == nil || (c.op.ResultRV != 0 && c.op.ResultRV != current.RV) {
		return false
	}
	return len(c.op.Objects) == 0 || c.op.Objects[0].Equal(current)
}

// explain finds the calls that cannot be ordered, one by one, and reports each.
func (r *register) explain(limit time.Duration, out *findings) {
	calls := slices.Clone(r.calls)
	for range r.calls {
		culprit, result := firstImpossible(calls, limit)
		switch {
		case result == porcupine.Unknown:
			out.searchGaveUp(limit)
			return
		case result == porcupine.Ok:
			return
		case culprit < 0 || calls[culprit].op == nil:
			r.reportUnexplained(calls, out)
			return
		}
		r.reportImpossible(calls[culprit], out)
		if calls[culprit].effect == observes {
			calls = slices.Delete(calls, culprit, culprit+1)
			continue
		}
		// The version exists whoever made it, so that later calls can be judged.
		given := *calls[culprit]
		given.op, given.begin, given.end = nil, math.MinInt64, math.MaxInt64
		calls[culprit] = &given
	}
}

// firstImpossible returns the index of the first call, by return, without which the
// calls that returned before it can be ordered, and with which they cannot. It returns
// -1 if no order exists even without real time.
func firstImpossible(calls []*call, limit time.Duration) (int, porcupine.CheckResult) {
	byReturn := make([]int, len(calls))
	for i := range calls {
		byReturn[i] = i
	}
	slices.SortStableFunc(byReturn, func(a, b int) int { return cmp.Compare(calls[a].end, calls[b].end) })

	worst := porcupine.Ok
	possible := func(returned int) bool {
		done := make([]bool, len(calls))
		for _, i := range byReturn[:returned] {
			done[i] = true
		}
		result := order(registerModel, toSearch(calls, done), limit)
		if result == porcupine.Unknown {
			worst = result
		}
		return result == porcupine.Ok
	}
	if possible(len(calls)) || worst == porcupine.Unknown {
		return -1, worst
	}
	first := sort.Search(len(calls), func(returned int) bool { return worst == porcupine.Unknown || !possible(returned) })
	switch {
	case worst == porcupine.Unknown:
		return -1, worst
	case first == 0:
		return -1, porcupine.Illegal
	}
	return byReturn[first-1], porcupine.Illegal
}

// reportImpossible reports a call, with the last write to the object that took effect
// before it.
func (r *register) reportImpossible(culprit *call, out *findings) {
	op := culprit.op
	witness := about(op)
	last := -1
	for _, call := range r.calls {
		if call.op != nil && call.effect == makesVersion && (call.end < culprit.begin || call.version < culprit.minMade) && call.version > last && call != culprit {
			last = call.version
			witness.Operations = []*model.Operation{op, call.op}
		}
	}
	if last >= 0 {
		witness.RVs = append(witness.RVs, r.versions[last].RV)
	}
	if culprit.effect == makesVersion {
		witness.RVs = append(witness.RVs, r.versions[culprit.version].RV)
	}
	guarantee := Linearizable
	if culprit.effect == observes && op.IsWrite() {
		guarantee = Preconditions
	}
	if last < culprit.minMade-1 && culprit.effect == observes {
		out.violate(guarantee, behindEtcd, about(op).want(r.versions[culprit.minMade-1].RV))
		return
	}
	out.violate(guarantee, impossibleResult, witness)
}

// reportUnexplained reports calls that cannot have made the committed versions in
// any order, regardless of time: a write was applied to a state that its kind or
// precondition excludes.
func (r *register) reportUnexplained(calls []*call, out *findings) {
	reported := false
	for _, call := range calls {
		if call.effect != makesVersion || call.op == nil {
			continue
		}
		before := r.current(call.version)
		if call.allowed(before) {
			continue
		}
		reported = true
		code, witness := wroteWithoutObject, about(call.op, r.versions[call.version].RV)
		if before != nil {
			code, witness.Got = wroteOverObject, before.RV
		}
		out.violate(Preconditions, code, witness)
	}
	// The calls include versions that no recorded operation made.
	first := slices.IndexFunc(calls, func(call *call) bool { return call.op != nil })
	if op := calls[max(0, first)].op; !reported && op != nil {
		witness := about(op)
		witness.Key = op.Key()
		out.violate(Linearizable, unexplainedVersions, witness)
	}
}

// judgeConflicts judges Preconditions for the writes that were refused with Conflict and
// have no precondition on the RV: those that have one are judged with the order of calls.
// The storage retries an update or delete that has lost a race, so that only a failed
// precondition explains a conflict.
//
// The preconditions are known if the client called the storage directly; a recording of
// a real cluster may lack them.
func judgeConflicts(f *facts, out *findings) {
	for op := range model.Each(f.history.Operations) {
		if !op.IsWrite() || op.Err != model.Conflict || op.Precondition != 0 || op.ErrRV == 0 {
			continue
		}
		uid := requiredUID(op)
		if uid == "" {
			out.violate(Preconditions, conflictForNothing, about(op))
			continue
		}
		if !f.met(op, func(object *model.Object) bool { return object.UID != uid }) {
			out.violate(Preconditions, conflictUnexplained, about(op))
		}
	}
}

// met reports whether some version of the object that was current during the operation
// satisfies holds.
func (f *facts) met(op *model.Operation, holds func(*model.Object) bool) bool {
	from, _ := f.bounds.minRV(op.Call)
	latest := f.bounds.maxRV(op.Return)
	return slices.ContainsFunc(f.store.Versions(op.Key()), func(v model.Version) bool {
		return v.RV <= latest && v.Until > from && v.Object != nil && holds(v.Object)
	})
}
