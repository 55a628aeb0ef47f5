// Finding 12: an object whose owner is gone is adopted while the garbage collector deletes it. If another field has changed just before, the object is deleted
// anyway.
package main

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/watchsim/watchsim/docs/findings/reproducers/collector"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const patient = 10 * time.Second

func main() {
	fmt.Printf("an object is adopted while the collector deletes it: it is %s\n", fate(0))
	lost := fate(1)
	fmt.Printf("the same, after a conflict with another change: it is %s\n", lost)
	rig.VerdictOfOne(lost != kept, "an object is deleted although its owner exists")
}

const kept = "kept"

// server is an API server with one object, whose owner is gone.
type server struct {
	mu      sync.Mutex
	object  *metav1.PartialObjectMetadata
	changes int // by others, each just before one of the first deletions arrives; then the object is adopted
	ended   chan string
}

// fate returns what becomes of an object that is changed this often before it is adopted.
func fate(changes int) string {
	owner, object := collector.ConfigMap("another", "2", "", ""), collector.ConfigMap("object", "3", "gone", "1")
	object.ResourceVersion = "1"
	client, _ := collector.Client(owner, object)
	s := &server{object: object.DeepCopy(), changes: changes, ended: make(chan string, 100)}
	client.PrependReactor("get", "configmaps", s.get)
	client.PrependReactor("delete", "configmaps", s.delete)
	stop := collector.Run(client)
	defer stop()
	select {
	case fate := <-s.ended:
		return fate
	case <-time.After(patient):
		rig.Must(fmt.Errorf("expected the collector to have tried to delete the object within %v", patient))
		return ""
	}
}

func (s *server) get(action clienttesting.Action) (bool, runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return action.(clienttesting.GetAction).GetName() == s.object.Name, s.object.DeepCopy(), nil
}

func (s *server) delete(action clienttesting.Action) (bool, runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	demands := action.(clienttesting.DeleteActionImpl).DeleteOptions.Preconditions
	version := rig.Value(strconv.Atoi(s.object.ResourceVersion))
	adopted := s.object.OwnerReferences[0].Name == "another"
	switch {
	case s.changes > 0:
		s.changes--
		s.object.Annotations = map[string]string{"changed": s.object.ResourceVersion}
	case !adopted:
		s.object.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "another", UID: "2"}}
		adopted = true
	}
	s.object.ResourceVersion = strconv.Itoa(version + 1)
	if demands.ResourceVersion != nil && *demands.ResourceVersion != s.object.ResourceVersion {
		if adopted {
			s.ended <- kept
		}
		return true, nil, apierrors.NewConflict(corev1.Resource("configmaps"), s.object.Name, fmt.Errorf("expected resourceVersion %s", *demands.ResourceVersion))
	}
	s.ended <- fmt.Sprintf("deleted although its owner exists, by a delete with UID %s and no resourceVersion", *demands.UID)
	return true, nil, nil
}
