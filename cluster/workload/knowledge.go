package workload

import (
	"math/rand/v2"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// maxFuture is how far beyond its newest known RV a client requests one that does not
// exist yet.
const maxFuture = 5

// knowledge is what one client has learned from its own responses only. It is the
// source of stale preconditions and plausible RVs.
type knowledge struct {
	objects map[model.Key]model.Object
	rvs     []int64 // the latest RVs seen, ascending, without duplicates
	most    int     // how many RVs are remembered
}

func newKnowledge(most int) *knowledge {
	return &knowledge{objects: map[model.Key]model.Object{}, most: most}
}

// seeRV remembers a resourceVersion.
func (k *knowledge) seeRV(rv int64) {
	if rv <= 0 {
		return
	}
	at, found := slices.BinarySearch(k.rvs, rv)
	if found {
		return
	}
	k.rvs = slices.Insert(k.rvs, at, rv)
	if len(k.rvs) > k.most {
		k.rvs = slices.Delete(k.rvs, 0, 1)
	}
}

// seeOperation learns from a response.
func (k *knowledge) seeOperation(op *model.Operation) {
	if op.Err == model.OK {
		k.seeRV(op.ResultRV)
	}
	if op.Kind == model.List {
		return
	}
	key := model.Key(op.Scope)
	switch op.Err {
	case model.OK:
		switch {
		case op.Kind == model.Delete:
			delete(k.objects, key)
		case len(op.Objects) > 0:
			k.objects[key] = op.Objects[0]
		case op.Object != nil:
			object := *op.Object
			object.RV = op.ResultRV
			k.objects[key] = object
		}
	case model.NotFound:
		delete(k.objects, key)
	case model.AlreadyExists, model.Conflict:
		// The object exists, in a state that the client has not seen.
		k.objects[key] = model.Object{Namespace: key.Namespace, Name: key.Name}
	}
}

// newest returns the highest RV seen, 0 if none.
func (k *knowledge) newest() int64 {
	if len(k.rvs) == 0 {
		return 0
	}
	return k.rvs[len(k.rvs)-1]
}

// recent draws one of the latest few RVs seen, 0 if there is none.
func (k *knowledge) recent(random *rand.Rand) int64 {
	if len(k.rvs) == 0 {
		return 0
	}
	return k.rvs[len(k.rvs)-1-random.IntN(min(4, len(k.rvs)))]
}

// old draws any of the remembered RVs, 0 if there is none.
func (k *knowledge) old(random *rand.Rand) int64 {
	if len(k.rvs) == 0 {
		return 0
	}
	return k.rvs[random.IntN(len(k.rvs))]
}

// future draws an RV slightly above all seen. By the time it is used it may exist,
// which is intended.
func (k *knowledge) future(random *rand.Rand) int64 {
	return k.newest() + 1 + random.Int64N(maxFuture)
}
