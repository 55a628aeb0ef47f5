package controlplane

import (
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchsim/watchsim/simtest"
)

// binders says which life of which scheduler has bound each pod and was told so. Pods of one name are bound
// one after the other; if some binding of that name got no answer, it is not known of any of them.
func binders(seen simtest.Seen) map[types.UID]string {
	sessions := map[string][]string{}
	for _, request := range seen.Requests["pods"] {
		if request.Subresource == "binding" && request.Code == http.StatusCreated {
			pod := request.Scope.Namespace + "/" + request.Scope.Name
			sessions[pod] = append(sessions[pod], request.Client)
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
	by := map[types.UID]string{}
	for name, pods := range bound {
		if len(sessions[name]) == len(pods) {
			for i, pod := range pods {
				by[pod] = sessions[name][i]
			}
		}
	}
	return by
}

// boundBySame reports whether one life of a scheduler has bound two pods, or nobody knows of bindings.
func (s *store) boundBySame(pod, other types.UID) bool {
	return s.binders == nil || s.binders[pod] != "" && s.binders[pod] == s.binders[other]
}
