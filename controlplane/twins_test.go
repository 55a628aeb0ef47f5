package controlplane

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

func TestTwins(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	ran := func(kind, node, uid string, began, gone int) *containers {
		c := &containers{kind: kind, node: node, uid: types.UID(uid), pod: types.NamespacedName{Namespace: "r", Name: "s-0"}, began: at(began)}
		if gone > 0 {
			c.gone = at(gone)
		}
		return c
	}
	for name, test := range map[string]struct {
		ran    []*containers
		broken int
	}{
		"one after the other":       {[]*containers{ran("StatefulSet", "a", "1", 1, 5), ran("StatefulSet", "b", "2", 5, 0)}, 0},
		"one that runs on":          {[]*containers{ran("StatefulSet", "a", "1", 1, 6), ran("StatefulSet", "b", "2", 5, 0)}, 1},
		"one that nobody has ended": {[]*containers{ran("StatefulSet", "a", "1", 1, 0), ran("StatefulSet", "b", "2", 5, 0)}, 1},
		"pods without an identity":  {[]*containers{ran("Job", "a", "1", 1, 6), ran("Job", "b", "2", 5, 0)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			plane := &Plane{nodes: []*Node{{ran: test.ran[1:]}, {ran: test.ran[:1]}}}
			require.Len(t, plane.Twins(), test.broken)
		})
	}
}

// A kubelet ends the containers of a pod that is gone without having been ended.
func TestContainersOfAPodThatIsGoneEnd(t *testing.T) {
	node := NewNode("n", &Workload{})
	name := types.NamespacedName{Namespace: "r", Name: "s-0"}
	node.ran = []*containers{{pod: name, uid: "1"}, {pod: name, uid: "2"}}
	node.end(name, "2")
	_, over := node.ran[0].over()
	require.True(t, over)
	_, over = node.ran[1].over()
	require.False(t, over)
}

// A kubelet that has removed a pod does not start it again as long as its informer still shows it.
func TestARemovedPodStaysRemoved(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "r", Name: "s-0", UID: "1", DeletionTimestamp: ptr.To(metav1.Now()), DeletionGracePeriodSeconds: ptr.To(int64(0)),
	}}
	pods := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	require.NoError(t, pods.Add(pod))
	k := &kubelet{node: NewNode("n", &Workload{}), client: fake.NewClientset(pod), pods: pods}
	for range 2 {
		_, err := k.sync(t.Context(), types.NamespacedName{Namespace: "r", Name: "s-0"})
		require.NoError(t, err)
	}
	require.Len(t, k.node.ran, 1)
}
