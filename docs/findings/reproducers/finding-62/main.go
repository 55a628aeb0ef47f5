// Finding 62: a StatefulSet with whenScaled: Delete is scaled down and, before its last pod has gone, deleted in the foreground. Its condemned pods own their
// claims then, so that they are deleted in the foreground, too: a pod waits until its claim is gone, and the claim until no pod uses it. Both stay.
package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/collector"
	"github.com/watchsim/watchsim/docs/findings/reproducers/jobs"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	space    = "red"
	replicas = 3
	// grace is how many seconds a pod takes to end.
	grace = 2
	// patient is how long a deletion may take; without the bug, that takes little more than the grace period. A new StatefulSet has patientAgain for its first pod.
	patient, patientAgain = 20 * time.Second, 10 * time.Second

	retained, deleted      = appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	foreground, background = metav1.DeletePropagationForeground, metav1.DeletePropagationBackground
)

var ctx = context.Background()

// variant is how a StatefulSet is deleted.
type variant struct {
	name string
	// scaled and removed are what becomes of claims when the StatefulSet is scaled down, and when it is deleted.
	scaled, removed appsv1.PersistentVolumeClaimRetentionPolicyType
	// whole is set if the StatefulSet is not scaled down before, and pod if a condemned pod is deleted in its place.
	whole, pod bool
	policy     metav1.DeletionPropagation
	shows      bool
}

var variants = []variant{
	{name: "in-the-background", scaled: deleted, removed: retained, policy: background},
	{name: "retained", scaled: retained, removed: retained, policy: foreground},
	{name: "not-scaled-down", scaled: deleted, removed: deleted, whole: true, policy: foreground},
	{name: "scaled-down", scaled: deleted, removed: retained, policy: foreground, shows: true},
	{name: "both-deleted", scaled: deleted, removed: deleted, policy: foreground, shows: true},
	{name: "pod-alone", scaled: deleted, removed: retained, pod: true, policy: foreground, shows: true},
}

func main() {
	config, client := api.Start(space)
	api.Control(ctx, client, "", 1, api.StatefulSets, api.ClaimProtection)
	collector.Over(config)
	go jobs.Kubelet(client, corev1.PodSucceeded)
	rig.Variants("a pod and its claim wait for each other", variants, func(v variant) (string, bool, bool) { return v.name, v.shows, v.stays(client) })
}

// stays creates a StatefulSet, scales it down, deletes it or a pod of it, and reports whether anything stays that is being deleted. Then it tries what may help.
func (v variant) stays(client kubernetes.Interface) bool {
	sets, pods := client.AppsV1().StatefulSets(space), client.CoreV1().Pods(space)
	inBackground := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	v.create(client)
	rig.Until(func() bool { return v.status(client).ReadyReplicas == replicas })
	if !v.whole {
		rig.Patch(sets, v.name, `{"spec":{"replicas":0}}`)
		rig.Until(func() bool { return rig.Get(pods, fmt.Sprint(v.name, "-", replicas-1)).DeletionTimestamp != nil })
	}
	if v.pod {
		rig.Delete(pods, v.name+"-0", metav1.DeleteOptions{PropagationPolicy: &v.policy})
	} else {
		rig.Delete(sets, v.name, metav1.DeleteOptions{PropagationPolicy: &v.policy})
	}
	if v.goes(client, "the deletion") {
		return false
	}
	if !v.pod {
		rig.Delete(sets, v.name, inBackground)
		v.create(client)
		_, has := rig.Wait(50*time.Millisecond, patientAgain, func() bool { return v.status(client).Replicas > 0 })
		fmt.Printf("%s: deleted again and recreated, the StatefulSet has a pod within %v: %v\n", v.name, patientAgain, has)
		rig.Delete(sets, v.name, inBackground)
	}
	for ordinal := range replicas {
		rig.Found(pods.Delete(ctx, fmt.Sprint(v.name, "-", ordinal), inBackground))
	}
	v.goes(client, "another deletion of the pods, in the background")
	return true
}

func (v variant) status(client kubernetes.Interface) appsv1.StatefulSetStatus {
	return rig.Get(client.AppsV1().StatefulSets(space), v.name).Status
}

func (v variant) create(client kubernetes.Interface) {
	labels := map[string]string{"app": v.name}
	rig.Create(client.AppsV1().StatefulSets(space), &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: v.name}, Spec: appsv1.StatefulSetSpec{
		Replicas: new(int32(replicas)), Selector: &metav1.LabelSelector{MatchLabels: labels},
		PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: v.scaled, WhenDeleted: v.removed},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			NodeName: "node", TerminationGracePeriodSeconds: new(int64(grace)), Containers: []corev1.Container{{Name: "c", Image: "image"}},
		}},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: api.Claim(corev1.ReadWriteOnce)}},
	}})
}

// goes waits until all that should go has gone, prints how long that took and what there is, and returns whether it came to that.
func (v variant) goes(client kubernetes.Interface, since string) bool {
	left := ""
	took, met := rig.Wait(50*time.Millisecond, patient, func() (done bool) {
		left, done = v.left(client)
		return done
	})
	fmt.Printf("%s: %v after %s, there is %s\n", v.name, took.Round(100*time.Millisecond), since, left)
	return met
}

// left describes what there is of the StatefulSet, and reports whether that has no pods, no claims that should have gone, and nothing that is being deleted.
func (v variant) left(client kubernetes.Interface) (description string, done bool) {
	selected := metav1.ListOptions{LabelSelector: "app=" + v.name}
	pods := rig.Value(client.CoreV1().Pods(space).List(ctx, selected))
	claims := rig.Value(client.CoreV1().PersistentVolumeClaims(space).List(ctx, selected))
	var found []string
	done = len(pods.Items) == 0 && (len(claims.Items) == 0 || v.scaled == retained)
	describe := func(name string, o metav1.Object) {
		if o.GetDeletionTimestamp() != nil {
			name, done = fmt.Sprintf("%s with %v", name, o.GetFinalizers()), false
		}
		found = append(found, name)
	}
	if set, err := client.AppsV1().StatefulSets(space).Get(ctx, v.name, metav1.GetOptions{}); err == nil {
		describe("the StatefulSet", set)
	}
	for _, pod := range pods.Items {
		describe(pod.Name, &pod)
	}
	for _, claim := range claims.Items {
		describe(claim.Name, &claim)
	}
	if found == nil {
		return "nothing", done
	}
	return strings.Join(found, ", "), done
}
