package importer

import (
	"cmp"
	"slices"
	"time"

	"github.com/watchsim/watchsim/model"
)

// proven is a range of revisions, above from and up to to, in which a stream delivered
// every change within its scope.
type proven struct {
	scope    model.Scope
	from, to int64
}

// facts are what sources say about an object besides its versions.
type facts struct {
	// absent and present are revisions at which it did not or did exist.
	absent, present []int64
	// unselected are the lists without it that select by labels or the node.
	unselected []selection
	// through has the revision up to which a version is known to have been current.
	through map[int64]int64
}

// selection is the selector of a list, and its revision.
type selection struct {
	model.Selector
	rv int64
}

func (t *truth) factsOf(key model.Key) *facts {
	f := t.facts[key]
	if f == nil {
		f = &facts{through: map[int64]int64{}}
		t.facts[key] = f
		if _, known := t.versions[key]; !known {
			t.versions[key] = nil
		}
	}
	return f
}

// noteBefore notes whether an object existed just before a revision.
func (t *truth) noteBefore(rv int64, key model.Key, existed bool) {
	f := t.factsOf(key)
	if existed {
		f.present = append(f.present, rv-1)
	} else {
		f.absent = append(f.absent, rv-1)
	}
}

// gatherFacts collects what lists, gets, streams and writes say about each object, and the ranges
// that streams without a selector prove.
func (t *truth) gatherFacts(skew time.Duration) {
	r := t.recording
	newest := r.newestBefore()
	for _, list := range r.wholeLists() {
		t.factsOfList(list)
	}
	for _, op := range r.operations {
		if op.Kind == model.Get && op.Err == model.OK && op.RV == model.RVUnset && len(op.Objects) > 0 {
			// It still existed when others had observed a later revision, allowing for clock skew.
			f := t.factsOf(op.Key())
			f.through[op.ResultRV] = max(f.through[op.ResultRV], newest(op.Call-2*skew.Nanoseconds()))
		}
		if op.Err == model.OK && op.ResultRV != 0 && (op.Kind == model.Create || op.Kind == model.Update) {
			t.noteBefore(op.ResultRV, op.Object.Key(), op.Kind == model.Update)
		}
	}
	for _, s := range r.streams {
		if s.Err != model.OK || !s.Selector.Empty() {
			continue
		}
		from, block := s.Beginning()
		to := from
		for j := range s.Events {
			e := &s.Events[j]
			to = max(to, e.RV)
			if j >= block && e.Object != nil && e.RV >= 2 && e.IsData() {
				t.noteBefore(e.RV, e.Object.Key(), e.Type != model.Added)
			}
		}
		t.ranges = append(t.ranges, proven{s.Scope, from, to})
	}
	for _, e := range r.etcd {
		if e.State {
			for _, key := range t.keys() {
				if v := t.current(key, e.From); v == nil || !v.committed {
					t.factsOf(key).absent = append(t.factsOf(key).absent, e.From)
				}
			}
		}
	}
}

// wholeList is a list with all its pages.
type wholeList struct {
	scope    model.Scope
	selector model.Selector
	rv       int64
	objects  []*model.Object
}

// wholeLists returns the lists of which all pages were recorded, including streaming lists.
func (r *Recording) wholeLists() []wholeList {
	var lists []wholeList
	for _, pages := range r.wholePages() {
		first := r.operations[pages[0]-1]
		list := wholeList{scope: first.Scope, selector: first.Selector, rv: first.ResultRV}
		consistent := first.Return != model.Pending
		for _, id := range pages {
			op := r.operations[id-1]
			consistent = consistent && op.ResultRV == list.rv
			for j := range op.Objects {
				list.objects = append(list.objects, &op.Objects[j])
			}
		}
		if consistent {
			lists = append(lists, list)
		}
	}
	for _, s := range r.streams {
		end := s.Mark()
		if end < 0 {
			continue
		}
		list := wholeList{scope: s.Scope, selector: s.Selector, rv: s.Events[end].RV}
		for j := range s.Events[:end] {
			if object := s.Events[j].Object; object != nil {
				list.objects = append(list.objects, object)
			}
		}
		lists = append(lists, list)
	}
	return lists
}

func (t *truth) factsOfList(list wholeList) {
	held := map[model.Key]bool{}
	for _, object := range list.objects {
		held[object.Key()] = true
		f := t.factsOf(object.Key())
		f.through[object.RV] = max(f.through[object.RV], list.rv)
	}
	for key := range t.versions {
		switch f := t.factsOf(key); {
		case !list.scope.Contains(key) || held[key]:
		case list.selector.Empty():
			f.absent = append(f.absent, list.rv)
		default:
			f.unselected = append(f.unselected, selection{list.selector, list.rv})
		}
	}
}

// infer adds the versions and deletions that facts require and no source observed.
func (t *truth) infer() {
	var all []unseen
	for _, key := range t.keys() {
		t.inferVersions(key)
		all = append(all, t.unseenOf(key)...)
	}
	// Each takes the last revision that is free. Those that can only have been late are first: others have more
	// revisions to choose from, and would leave them none.
	slices.SortStableFunc(all, func(a, b unseen) int { return cmp.Or(cmp.Compare(b.from, a.from), cmp.Compare(a.to, b.to)) })
	for _, u := range all {
		t.inferUnseen(u)
	}
}

// inferVersions adds the versions of an object that existed and that no source observed.
func (t *truth) inferVersions(key model.Key) {
	f := t.factsOf(key)
	slices.Sort(f.absent)
	slices.Sort(f.present)
	f.absent, f.present = slices.Compact(f.absent), slices.Compact(f.present)
	for _, rv := range f.present {
		v := t.current(key, rv)
		if v != nil && !v.deleted {
			continue
		}
		from := int64(1)
		if v != nil {
			from = v.rv + 1
		}
		if i, _ := slices.BinarySearch(f.absent, rv+1); i > 0 {
			from = max(from, f.absent[i-1]+1)
		}
		t.place(key, from, rv, false, true)
	}
}

// unseen is a change within a range of revisions that no source observed, after which an object was absent: a
// deletion, or, if it was absent from a list with a selector, perhaps a version that does not match.
type unseen struct {
	key      model.Key
	from, to int64
	selector model.Selector
}

// unseenOf returns the unseen changes of an object.
func (t *truth) unseenOf(key model.Key) (all []unseen) {
	f := t.factsOf(key)
	add := func(rv int64, selector model.Selector) {
		if v := t.current(key, rv); v != nil && !v.deleted {
			all = append(all, unseen{key, max(v.rv, f.through[v.rv]) + 1, rv, selector})
		}
	}
	for _, rv := range f.absent {
		add(rv, model.Selector{})
	}
	for _, s := range f.unselected {
		add(s.rv, s.Selector)
	}
	return all
}

// inferUnseen adds an unseen change, unless the object is already absent at the end of the range.
// If it is known to exist there, a source is wrong, and the oracle will report it.
func (t *truth) inferUnseen(u unseen) {
	v := t.current(u.key, u.to)
	if v == nil || v.deleted || !u.selector.Matches(&v.object) {
		return
	}
	deleted := true
	if !u.selector.Empty() {
		next := t.next(u.key, u.to)
		deleted = next == nil || !next.deleted && next.object.UID != v.object.UID
	}
	t.place(u.key, max(v.rv, t.factsOf(u.key).through[v.rv])+1, u.to, deleted, true)
}

// inferLast adds the last version of an object before a deletion, if the object in the
// deletion is none of the observed versions.
func (t *truth) inferLast(s sight) {
	key := s.object.Key()
	before := t.current(key, s.rv-1)
	if s.object.Value == "" || before == nil || before.deleted || before.committed {
		return
	}
	comparable := false
	for _, vote := range before.seen {
		if vote.digest == s.object.Value {
			return
		}
		comparable = comparable || family(vote.digest) == family(s.object.Value)
	}
	if !comparable {
		return
	}
	from := max(before.rv, t.factsOf(key).through[before.rv]) + 1
	if v := t.place(key, from, s.rv-1, false, false); v != nil {
		v.learn(s.object)
	}
}

// maxTried is how many revisions are tried around one that is taken.
const maxTried = 1000

// place adds an unobserved change within a range of revisions, and returns it. It
// prefers a revision at which no stream should have delivered it. If there is none, a
// stream is at fault, and a needed change is added at any free revision. If all are
// taken, nothing is added.
func (t *truth) place(key model.Key, from, to int64, deleted, needed bool) *version {
	if from > to {
		return nil
	}
	candidates := []int64{from, to}
	if deleted {
		candidates = []int64{to, from}
	}
	for _, r := range t.ranges {
		candidates = append(candidates, r.from, r.to+1)
	}
	for _, seenByNone := range []bool{true, false} {
		if !seenByNone && !needed {
			return nil
		}
		for _, candidate := range candidates {
			if candidate < from || candidate > to {
				continue
			}
			step := int64(-1)
			if candidate == from {
				step = 1
			}
			for rv, tried := candidate, 0; rv >= from && rv <= to && tried < maxTried; rv, tried = rv+step, tried+1 {
				if _, taken := t.used[rv]; taken || t.known(key, rv) {
					continue
				}
				if seenByNone && t.isProven(key, rv) {
					break
				}
				return t.add(key, rv, deleted)
			}
		}
	}
	return nil
}

func (t *truth) isProven(key model.Key, rv int64) bool {
	return slices.ContainsFunc(t.ranges, func(r proven) bool { return rv > r.from && rv <= r.to && r.scope.Contains(key) })
}
