package controlplane

import (
	"math/bits"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/model"
)

// manyFailures is the number of failed syncs after which the backoff exceeds the time that [Late] allows: it starts at 5 ms and doubles with
// each failure, even of a sync that an event has triggered earlier. A refused request is a failure, and so is a sync before the controller has observed its
// own writes (pkg/controller/util/consistency), which it retries with the same backoff.
const (
	manyFailures = 14
	firstBackoff = 5 * time.Millisecond
)

// The names of controllers in their User-Agents.
const (
	statefulSetController = "statefulset-controller"
	replicaSetController  = "replicaset-controller"
)

// podControllers are the controllers that create the pods of each kind of workload, and the resource whose status they write.
var podControllers = map[string][2]string{
	"statefulsets.apps": {statefulSetController, "statefulsets.apps"}, "daemonsets.apps": {daemonSetController, "daemonsets.apps"},
	"replicasets.apps": {replicaSetController, "replicasets.apps"}, "deployments.apps": {replicaSetController, "replicasets.apps"},
}

// failures returns how many requests of a life of a controller manager for a workload's pods, or its status, were refused, and how many syncs the
// longest wait for the observation of one that succeeded takes. A deletion of a pod that is gone already does not count.
func (s *store) failures(life string, set metav1.Object) int {
	controller := podControllers[resourceOfKind(set)]
	refused, waits := 0, 0
	for _, resource := range []string{"pods", controller[1]} {
		for _, request := range s.seen.Requests[resource] {
			of := request.Scope
			generated := strings.HasPrefix(request.GenerateName, set.GetName()+"-")
			if request.Client != life || !isOf(request, controller[0]) || of.Namespace != set.GetNamespace() || of.Name != set.GetName() && !generated && !strings.HasPrefix(of.Name, set.GetName()+"-") {
				continue
			}
			gone := request.Kind == model.Delete && request.Code == http.StatusNotFound
			switch {
			case request.Code >= http.StatusBadRequest && !gone:
				refused++
			case request.Op.IsWrite() && request.Op.ResultRV > 0:
				for event := range s.received(resource, life) {
					if event.RV >= request.Op.ResultRV {
						waits = max(waits, bits.Len64(uint64(max(0, event.Time-request.Return)/int64(firstBackoff))))
						break
					}
				}
			}
		}
	}
	return refused + waits
}
