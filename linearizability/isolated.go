package linearizability

import "github.com/watchsim/watchsim/model"

// judgeMutations judges Isolated by the marks with which some consumers mutate
// the objects that the cache delivers to them: see model.MutationMark. Nobody may see
// a mark, not even that consumer, whose copy was made before.
//
// An object with a mark differs from the stored one, so the rules that compare
// contents report it as well. This rule says which stream mutated it.
func judgeMutations(f *facts, out *findings) {
	streams := map[int]*model.Stream{}
	for s := range model.Each(f.history.Streams) {
		if s.Mutates {
			streams[s.ID] = s
			for j := range s.Events {
				if s.Events[j].IsData() {
					out.judged.Mutated++
				}
			}
		}
	}
	if len(streams) == 0 {
		return // no consumer mutates, and looking for marks takes time
	}
	judge := func(object *model.Object, witness func() Witness) {
		if stream, found := model.MutatedBy(object); found {
			w := witness().got(int64(stream))
			w.Other, w.Key = streams[stream], object.Key()
			out.violate(Isolated, mutated, w)
		}
	}
	for s := range model.Each(f.history.Streams) {
		for event := range model.Each(s.Events) {
			judge(event.Object, func() Witness { return onStream(s, event.RV).showing(event) })
		}
	}
	for op := range model.Each(f.history.Operations) {
		for object := range model.Each(op.Objects) {
			judge(object, func() Witness { return about(op, object.RV) })
		}
	}
	for informer := range model.Each(f.history.Informers) {
		for object := range model.Each(informer.Objects) {
			judge(object, func() Witness {
				return Witness{Client: informer.Client, Informer: informer, RVs: []int64{object.RV}}
			})
		}
	}
	for change := range model.Each(f.history.Truth.Changes) {
		judge(&change.Object, func() Witness { return Witness{RVs: []int64{change.RV}} })
	}
}
