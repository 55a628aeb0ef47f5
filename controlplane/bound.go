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
	for _, request := range seen.Requests {
		if pod, is := boundPod(request); is && request.Code == http.StatusCreated {
			sessions[pod] = append(sessions[pod], request.Session)
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

// boundPod is the pod that a request asks to bind, with its namespace.
func boundPod(request simtest.Request) (pod string, is bool) {
	path, _, _ := strings.Cut(request.Path, "?")
	parts := strings.Split(path, "/") // "", api, v1, namespaces, red, pods, a, binding
	if request.Method != http.MethodPost || len(parts) != 8 || parts[5] != "pods" || parts[7] != "binding" {
		return "", false
	}
	return parts[4] + "/" + parts[6], true
}

// boundBySame reports whether one life of a scheduler has bound two pods, or nobody knows of bindings.
func (s *store) boundBySame(pod, other types.UID) bool {
	return s.binders == nil || s.binders[pod] != "" && s.binders[pod] == s.binders[other]
}
