package controlplane

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clientgotesting "k8s.io/client-go/testing"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// TestExtenderAnswersSchedulers asks the extender as kube-scheduler does.
func TestExtenderAnswersSchedulers(t *testing.T) {
	client, plane := fake.NewClientset(), &Plane{}
	client.PrependReactor("create", "pods/binding", func(clientgotesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
	server := httptest.NewServer((&extender{client, plane}).handler())
	t.Cleanup(server.Close)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", UID: "1"}}
	nodes := map[string]*framework.NodeInfo{}
	for name, labels := range map[string]map[string]string{"open": nil, "shut": {closed: "yes"}} {
		nodes[name] = framework.NewNodeInfo(pod)
		nodes[name].SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	for capable, accepted := range map[string][]string{"nodeCacheCapable: true": {"open", "shut"}, "nodeCacheCapable: false": {"open"}} {
		configuration, err := Settings{Extender: []string{"filterVerb: filter", "prioritizeVerb: prioritize, weight: 1", "preemptVerb: preempt", "bindVerb: bind", capable}}.scheduler()
		require.NoError(t, err)
		configuration.Extenders[0].URLPrefix = server.URL
		asks, err := scheduler.NewHTTPExtender(&configuration.Extenders[0])
		require.NoError(t, err)

		filtered, _, unresolvable, err := asks.Filter(pod, []fwk.NodeInfo{nodes["open"], nodes["shut"]})
		require.NoError(t, err)
		var names []string
		for _, node := range filtered {
			names = append(names, node.Node().Name)
		}
		require.Equal(t, accepted, names)
		require.Len(t, unresolvable, 2-len(accepted))

		scores, _, err := asks.Prioritize(pod, []fwk.NodeInfo{nodes["open"], nodes["shut"]})
		require.NoError(t, err)
		require.Equal(t, []string{"open", "shut"}, []string{(*scores)[0].Host, (*scores)[1].Host})

		victims := map[string]*extenderv1.Victims{"shut": {Pods: []*corev1.Pod{pod}, NumPDBViolations: 1}}
		preempted, err := asks.ProcessPreemption(pod, victims, nodeInfos{known: nodes})
		require.NoError(t, err)
		require.Equal(t, victims, preempted)

		require.True(t, plane.done["Extender"])
		client.ClearActions()
		require.NoError(t, asks.Bind(&corev1.Binding{ObjectMeta: pod.ObjectMeta, Target: corev1.ObjectReference{Name: "open"}}))
		bound := client.Actions()[0].(clientgotesting.CreateAction)
		require.Equal(t, "binding", bound.GetSubresource())
		require.Equal(t, &corev1.Binding{ObjectMeta: pod.ObjectMeta, Target: corev1.ObjectReference{Kind: "Node", Name: "open"}}, bound.GetObject())

		plane.Workload.Healthy = time.Now().Add(time.Hour)
		require.Eventually(t, func() bool { _, _, err = asks.Prioritize(pod, nil); return err != nil }, time.Minute, time.Nanosecond)
		plane.Workload.Healthy = time.Time{}
	}
}

// nodeInfos are the nodes that a scheduler knows. An extender is given nothing else of them.
type nodeInfos struct {
	fwk.NodeInfoLister
	known map[string]*framework.NodeInfo
}

func (n nodeInfos) Get(name string) (fwk.NodeInfo, error) { return n.known[name], nil }
