package controlplane

import (
	"net/http"
	"time"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
)

// maxInDoubt is how long a deletion whose outcome is unknown may be the one that sets an object's deletionTimestamp.
const maxInDoubt = 2 * time.Minute

// marks returns the requests that have set deletionTimestamps, by revision. A history records a deletion that is answered with an object
// as a read, as an eviction or a deletion of a collection may have set the timestamp. Here the deletion has set it, unless one of those may have.
func marks(seen simtest.Seen) map[int64]*model.Operation {
	found := map[int64]*model.Operation{}
	for _, requests := range seen.Requests {
		for _, request := range requests {
			op := request.Op
			if request.Kind != model.Delete || request.Subresource != "" || request.Scope.Name == "" || op.Err != model.OK || op.ResultRV == 0 {
				continue
			}
			if first := found[op.ResultRV]; (first == nil || op.Call < first.Call) && !inDoubt(requests, request) {
				found[op.ResultRV] = &op
			}
		}
	}
	return found
}

// inDoubt reports whether another request may have set the deletionTimestamp in the answer to a deletion.
func inDoubt(requests []*importer.Told, deletion *importer.Told) bool {
	for _, other := range requests {
		switch {
		case other == deletion || other.DryRun || other.Kind != model.Delete && other.Subresource != "eviction":
		case other.Scope.Namespace != deletion.Scope.Namespace || other.Scope.Name != deletion.Scope.Name && other.Scope.Name != "":
		case other.Call > deletion.Return || other.Call < deletion.Call-int64(maxInDoubt):
		case other.Code >= http.StatusBadRequest && other.Code < http.StatusInternalServerError:
		case other.Op.Err == model.OK && other.Op.ResultRV != 0 && other.Op.ResultRV != deletion.Op.ResultRV: // it was of another deletionTimestamp, or the removal
		default:
			return true
		}
	}
	return false
}

// deletedBy returns the request that has deleted an object, or set its deletionTimestamp, at a revision; nil if that is unknown.
func (s *store) deletedBy(rv int64) *model.Operation {
	if by := s.wrote[rv]; by != nil {
		return by
	}
	return s.marked[rv]
}

// removedBy is deletedBy for the removal of an object. An update that removes the last finalizer, and with it the object, is answered with the object as it
// was updated, and not with the revision of the removal.
func (s *store) removedBy(old object, rv int64) *model.Operation {
	if by := s.deletedBy(rv); by != nil {
		return by
	}
	for _, request := range s.seen.Requests[resourceOfKind(old)] {
		op := &request.Op
		if request.Kind == model.Update && op.Kind == model.Delete && op.Err == model.OK && len(op.Objects) == 1 && op.Objects[0].UID == string(old.GetUID()) {
			return op
		}
	}
	return nil
}

// podDeletedBy is deletedBy for a pod. Without a grace period, as a pod on no node has none, one request sets the deletionTimestamp and removes the pod
// (Store.Delete of k8s.io/apiserver), and is answered with the second revision.
func (s *store) podDeletedBy(k *known) *model.Operation {
	if by := s.deletedBy(k.going); by != nil {
		return by
	}
	return s.wrote[k.gone]
}
