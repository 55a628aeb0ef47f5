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

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
)

// ran returns containers of a pod that began and ended at some seconds, 0 for never.
func ran(kind, node string, uid types.UID, began, gone int64) *containers {
	c := &containers{kind: kind, node: node, uid: uid, pod: types.NamespacedName{Namespace: "r", Name: "s-0"}, began: time.Unix(began, 0)}
	if gone > 0 {
		c.gone = time.Unix(gone, 0)
	}
	return c
}

func TestTwins(t *testing.T) {
	for name, test := range map[string]struct {
		ran    []*containers
		broken int
	}{
		"one after the other":      {[]*containers{ran("StatefulSet", "a", "1", 1, 5), ran("StatefulSet", "b", "2", 5, 0)}, 0},
		"overlap":                  {[]*containers{ran("StatefulSet", "a", "1", 1, 6), ran("StatefulSet", "b", "2", 5, 0)}, 1},
		"first never ended":        {[]*containers{ran("StatefulSet", "a", "1", 1, 0), ran("StatefulSet", "b", "2", 5, 0)}, 1},
		"pods without an identity": {[]*containers{ran("Job", "a", "1", 1, 6), ran("Job", "b", "2", 5, 0)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			plane := &Plane{nodes: []*Node{{ran: test.ran[1:]}, {ran: test.ran[:1]}}}
			require.Len(t, plane.twins(newStore(simtest.Seen{})), test.broken)
		})
	}
}

// Pod 1 is bound, then deleted without its grace period, and runs on while pod 2 begins.
func TestTwinsOfADeletionWithoutGrace(t *testing.T) {
	for name, row := range map[string]struct {
		grace, deletion int64 // of the spec, and of the deletion
		call, returned  int64 // of the deletion; the pod is bound by a request from 10 to 20
		kind            model.Kind
		subresource     string
		client          string
		cached          int64 // what the server that deletes has sent from its cache before; the pod is bound at RV 7
		broken          int
	}{
		"deleted while it was bound":         {30, 0, 15, 25, model.Delete, "", "u", 7, 0},
		"evicted while it was bound":         {30, 0, 5, 12, model.Create, "eviction", "u", 7, 0},
		"deletion never answered":            {30, 0, 15, model.Pending, model.Delete, "", "u", 7, 0},
		"deleted after it was bound":         {30, 0, 20, 25, model.Delete, "", "u", 7, 1},
		"deleted before it was bound":        {30, 0, 5, 10, model.Delete, "", "u", 7, 1},
		"deleted before the cache knew":      {30, 0, 21, 25, model.Delete, "", "u", 6, 0},
		"deleted by its kubelet":             {30, 0, 21, 25, model.Delete, "", "n (life 2)", 6, 1},
		"with its grace period":              {30, 30, 15, 25, model.Delete, "", "u", 7, 1},
		"without a grace period in its spec": {0, 0, 15, 25, model.Delete, "", "u", 7, 1},
		"update of the status":               {30, 0, 15, 25, model.Update, "status", "u", 7, 1},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "r", Name: "s-0", UID: "1", DeletionGracePeriodSeconds: &row.deletion},
				Spec:       corev1.PodSpec{NodeName: "n", TerminationGracePeriodSeconds: &row.grace},
			}
			request := func(kind model.Kind, subresource string, call, returned int64) *importer.Told {
				return &importer.Told{Exchange: importer.Exchange{Kind: kind, Request: importer.Request{Subresource: subresource, Scope: model.Scope{Namespace: "r", Name: "s-0"}}, Call: call, Return: returned}}
			}
			binding, deletion := request(model.Create, "binding", 10, 20), request(row.kind, row.subresource, row.call, row.returned)
			deletion.Client = row.client
			s := newStore(simtest.Seen{
				Requests:  map[string][]*importer.Told{"pods": {binding, deletion}},
				Histories: map[string]*model.History{"pods": {Streams: []model.Stream{{Events: []model.Event{{Type: model.Bookmark, RV: row.cached, Time: 1}}}}}},
			})
			s.known["1"], s.bindings = &known{pod: pod, bound: 7}, &bindings{by: map[types.UID]*importer.Told{"1": binding}}
			plane := &Plane{nodes: []*Node{{ran: []*containers{ran("StatefulSet", "a", "1", 1, 6), ran("StatefulSet", "a", "2", 5, 9)}}}}
			require.Len(t, plane.twins(s), row.broken)
			t.Setenv(mutant.Variable, "fix-finding-29")
			require.Len(t, plane.twins(s), 1)
		})
	}
}

// A kubelet ends the containers of a pod that was removed while they ran.
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

// A kubelet does not restart a pod that it has removed while its informer still has it.
func TestARemovedPodStaysRemoved(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "r", Name: "s-0", UID: "1", DeletionTimestamp: new(metav1.Now()), DeletionGracePeriodSeconds: new(int64(0)),
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

func TestAPodIsBoundOnce(t *testing.T) {
	pods, at := map[types.UID]*known{}, []*corev1.Pod{{}, {Spec: corev1.PodSpec{NodeName: "n"}}, {Spec: corev1.PodSpec{NodeName: "n"}}}
	for i, after := range at {
		after.UID = "1"
		applyPod(pods, nil, after, int64(5+i))
	}
	require.EqualValues(t, 6, pods["1"].bound)
}
