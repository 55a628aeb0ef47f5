package controlplane

import (
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
)

// views are the times at which each life of a program first listed or watched all objects of a resource, by resource, unless it allowed
// the state of a cache. Its later decisions are based on that and on its own writes: controllers wait until they
// observe their own writes, but not for those of another life (feature gates StaleControllerConsistency*, or the expectations of pods where settings
// switch these off: each process remembers its own).
type views map[string]map[string]int64

func newViews(seen simtest.Seen) views {
	v := views{}
	for resource, requests := range seen.Requests {
		asked := map[string]bool{}
		v[resource] = map[string]int64{}
		for _, request := range requests {
			if request.Subresource != "" || request.Scope != (model.Scope{}) || asked[request.Client] || request.Kind == model.Create {
				continue
			}
			asked[request.Client] = true
			if request.RV == model.RVUnset {
				v[resource][request.Client] = request.Call
			}
		}
	}
	return v
}

// include reports whether a life of a program knew the effect of a request on a resource: the request was its own, or was
// answered before that life first listed all objects.
func (v views) include(resource, life, client string, answered int64) bool {
	began, all := v[resource][life]
	return life == client || all && began > answered
}
