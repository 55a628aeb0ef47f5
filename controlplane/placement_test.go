package controlplane_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/simtest"
)

// Pods that exclude each other are not placed on one node.
func TestPlacedApart(t *testing.T) {
	const (
		anywhere = `"containers":[{"name":"c"}]`
		away     = `"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":{"matchLabels":{"app":"x"}},"topologyKey":"kubernetes.io/hostname"}]}}`
		pending  = `"nodeName":""`
	)
	wants := func(port, protocol string) string {
		return fmt.Sprintf(`"containers":[{"name":"c","ports":[{"hostPort":%s,"protocol":%q}]}]`, port, protocol)
	}
	on := func(space, name, app, node, spec, phase string) string {
		return fmt.Sprintf("pods/%s/%s %s\n", space, name, pod(space+name, `,"namespace":"`+space+`","name":"`+name+`","labels":{"app":"`+app+`"}`, node+","+spec, phase))
	}
	first := func(spec string) string { return someNode + on("r", "a", "x", bound, spec, "Running") }
	for name, row := range map[string]struct{ states, broken string }{
		"pods that go together":               {first(anywhere) + on("r", "b", "x", bound, anywhere, ""), ""},
		"the same port":                       {first(wants("80", "TCP")) + on("b", "b", "y", bound, wants("80", "TCP"), ""), "Apart"},
		"another port":                        {first(wants("80", "TCP")) + on("r", "b", "x", bound, wants("81", "TCP"), ""), ""},
		"another protocol":                    {first(wants("80", "TCP")) + on("r", "b", "x", bound, wants("80", "UDP"), ""), ""},
		"no port of the host":                 {first(wants("0", "TCP")) + on("r", "b", "x", bound, wants("0", "TCP"), ""), ""},
		"the same port, pending":              {first(wants("80", "TCP")) + on("r", "b", "x", pending, wants("80", "TCP"), ""), ""},
		"the same port of a pod that is over": {someNode + on("r", "a", "x", bound, wants("80", "TCP"), "Failed") + on("r", "b", "x", bound, wants("80", "TCP"), ""), ""},
		"a pod that keeps away":               {first(anywhere) + on("r", "b", "y", bound, away, ""), "Apart"},
		"a pod that is kept away":             {first(away) + on("r", "b", "x", bound, anywhere, ""), "Apart"},
		"a pod with another label":            {first(away) + on("r", "b", "y", bound, anywhere, ""), ""},
		"a pod of another namespace":          {first(away) + on("b", "b", "x", bound, anywhere, ""), ""},
		"a pod whose label has changed":       {first(anywhere) + on("r", "b", "y", pending, away, "") + on("r", "a", "z", bound, anywhere, "Running") + on("r", "a", "x", bound, anywhere, "Running") + on("r", "b", "y", bound, away, ""), ""},
		"a pod whose own label has changed":   {first(away) + on("r", "b", "y", pending, anywhere, "") + on("r", "b", "x", pending, anywhere, "") + on("r", "b", "x", bound, anywhere, ""), ""},
	} {
		t.Run(name, func(t *testing.T) { breaks(t, simtest.Seen{Committed: states(t, row.states)}, row.broken) })
	}
}

// A pod waits for ever if each node has a pod that excludes it.
func TestExcludedPodsWait(t *testing.T) {
	t.Setenv("WATCHSIM_MUTANT", "")
	for _, row := range []struct {
		priority int32
		wrong    string
	}{{0, ""}, {1, "pod r/second is  on node \"\" and not ready"}} { // it preempts the other one
		w := settled()
		two := resource.MustParse("2")
		w.node.Status.Allocatable[corev1.ResourcePods], w.quota.Status.Used[corev1.ResourcePods] = two, two
		w.pod.Spec.Containers = []corev1.Container{{Name: "c", Ports: []corev1.ContainerPort{{HostPort: 80}}}}
		second := w.pod.DeepCopy()
		second.ObjectMeta = metav1.ObjectMeta{Namespace: "r", Name: "second", UID: "second"}
		second.Spec.NodeName, second.Spec.Priority, second.Status = "", &row.priority, corev1.PodStatus{}
		client := w.client()
		require.NoError(t, client.Tracker().Add(second))
		err := controlplane.Settled(t.Context(), client, w.untyped())
		if row.wrong == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, row.wrong)
		}
	}
}
