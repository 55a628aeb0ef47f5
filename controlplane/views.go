package controlplane

import (
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
)

// views are when each life of a program asked first for all objects of a resource, by resources, if it did not ask for
// those that some cache has. What it creates later follows from them, and from what it has written itself: controllers wait until
// they see their own writes, but not for those of another life (feature gates StaleControllerConsistency*: each process remembers its own).
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

// include reports whether a life of a program knew what a request had done to a resource: it was its own, or it had
// been answered before that life asked for all objects.
func (v views) include(resource, life, client string, answered int64) bool {
	began, all := v[resource][life]
	return life == client || all && began > answered
}
