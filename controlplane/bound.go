package controlplane

import (
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
)

// bindings are the known bind requests of pods.
type bindings struct {
	// by is the request that has bound each pod, if its success was confirmed.
	by    map[types.UID]*importer.Told
	views views
}

// newBindings matches bind requests with pods. Pods of one name are bound one after the other: if a bind request for that
// name has an unknown outcome, none of them is matched.
func newBindings(seen simtest.Seen) *bindings {
	b := &bindings{by: map[types.UID]*importer.Told{}, views: newViews(seen)}
	answered := map[string][]*importer.Told{}
	for _, request := range seen.Requests["pods"] {
		if request.Subresource == "binding" && request.Code == http.StatusCreated {
			pod := request.Scope.Namespace + "/" + request.Scope.Name
			answered[pod] = append(answered[pod], request)
		}
	}
	bound := map[string][]types.UID{}
	nodes := map[types.UID]string{}
	for _, change := range seen.Committed.Changes {
		if change.Deleted || !strings.HasPrefix(change.Object.Name, podKeys) {
			continue
		}
		decoded, err := decode(change)
		if pod, is := decoded.(*corev1.Pod); err == nil && is && pod.Spec.NodeName != "" && nodes[pod.UID] == "" {
			nodes[pod.UID] = pod.Spec.NodeName
			bound[nameOf(change.Object.Name)] = append(bound[nameOf(change.Object.Name)], pod.UID)
		}
	}
	for name, pods := range bound {
		if len(answered[name]) == len(pods) {
			for i, pod := range pods {
				b.by[pod] = answered[name][i]
			}
		}
	}
	return b
}

// knew reports whether the scheduler that bound a pod knew of the binding of another one; always true without histories. An extender may bind a pod when the
// scheduler that asked for it does not lead any more.
func (b *bindings) knew(pod, other types.UID) bool {
	if b == nil {
		return true
	}
	later, earlier := b.by[pod], b.by[other]
	return later != nil && earlier != nil && programOf(later.Client) != extenderName && b.views.include("pods", later.Client, earlier.Client, earlier.Return)
}
