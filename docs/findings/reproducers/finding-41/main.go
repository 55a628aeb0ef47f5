// Finding 41: a DaemonSet with maxSurge and minReadySeconds is being rolled out, and another controller manager becomes the leader while a new pod is ready, but
// not yet available. Nothing requeues the DaemonSet once the pod is available: the rollout stalls.
package main

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/watchsim/watchsim/docs/findings/reproducers/daemons"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	nodes, minReadySeconds = 2, 2
	// patient is how long a rollout may take; it takes nodes*(minReadySeconds+1) seconds, or somewhat more.
	patient = 20 * time.Second
)

var (
	surge       = appsv1.RollingUpdateDaemonSet{MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0))}
	unavailable = appsv1.RollingUpdateDaemonSet{MaxSurge: new(intstr.FromInt32(0)), MaxUnavailable: new(intstr.FromInt32(1))}
)

func main() {
	stalled := 0
	for _, r := range []struct {
		what     string
		strategy appsv1.RollingUpdateDaemonSet
		restart  bool
		ahead    time.Duration // the clock of the nodes
		shows    bool
	}{
		{"maxSurge 1", surge, false, 0, false},
		{"maxUnavailable 1, another leader", unavailable, true, 0, false},
		{"maxSurge 1, another leader", surge, true, 0, true},
		{"maxUnavailable 1, clocks of the nodes 3s ahead", unavailable, false, 3 * time.Second, false},
		{"maxSurge 1, clocks of the nodes 3s ahead", surge, false, 3 * time.Second, true},
	} {
		if !rollout(r.what, r.strategy, r.restart, r.ahead) && r.shows {
			stalled++
		}
	}
	rig.Verdict(stalled, 2, "a rollout stalls although a new pod is available")
}

// rollout changes the template of a DaemonSet, and reports whether all its pods are replaced.
func rollout(what string, strategy appsv1.RollingUpdateDaemonSet, restart bool, ahead time.Duration) bool {
	client := daemons.Cluster(nodes, func(image string) time.Time {
		if image == "old" {
			return time.Now().Add(-time.Hour)
		}
		return time.Now().Add(ahead)
	})
	stop := daemons.Start(client)
	defer func() { stop() }()
	set := daemons.Set("old", strategy)
	set.UID, set.Generation, set.Spec.MinReadySeconds = "set", 1, minReadySeconds
	rig.Create(client.AppsV1().DaemonSets(daemons.Space), set)
	rig.Until(func() bool { return len(daemons.Pods(client, "old")) == nodes })
	time.Sleep(time.Second) // so that the new pods are younger

	set = daemons.Set("new", strategy)
	set.UID, set.Generation, set.Spec.MinReadySeconds = "set", 2, minReadySeconds
	rig.Update(client.AppsV1().DaemonSets(daemons.Space), set)
	rig.Until(func() bool { return len(daemons.Pods(client, "new")) == 1 })
	if restart {
		stop()
		stop = daemons.Start(client)
	}
	took, done := rig.Wait(10*time.Millisecond, patient, func() bool {
		return len(daemons.Pods(client, "old")) == 0 && len(daemons.Pods(client, "new")) == nodes
	})
	took = took.Round(100 * time.Millisecond)
	if done {
		fmt.Printf("%s: all pods are new after %v\n", what, took)
		return true
	}
	older, newer := daemons.Pods(client, "old"), daemons.Pods(client, "new")
	available := time.Since(newer[0].Status.Conditions[0].LastTransitionTime.Add(minReadySeconds * time.Second)).Round(time.Second)
	fmt.Printf("%s: after %v there are %d old pods and %d new pod, which has been available for %v\n", what, took, len(older), len(newer), available)
	older[0].ResourceVersion, older[0].Annotations = "touched", map[string]string{"touched": "true"}
	rig.Update(client.CoreV1().Pods(daemons.Space), &older[0])
	rig.Until(func() bool { return len(daemons.Pods(client, "old")) < len(older) })
	fmt.Printf("%s: after an update of any pod, %d of %d old pods left\n", what, len(daemons.Pods(client, "old")), len(older))
	return false
}
