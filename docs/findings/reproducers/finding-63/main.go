// Finding 63: a claim whose class waits for a first consumer is deleted while kube-scheduler binds a pod that uses it. As the pod is not on a node yet, the claim goes.
// It is created again, but nobody selects a node for it, as the pod is on one now. The claim waits for a pod to be placed, and the pod for its claim.
package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/controller/volume/ephemeral"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"
	"k8s.io/kubernetes/pkg/scheduler"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/collector"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	late, immediate = "late", "immediate" // storage classes: the first waits for a consumer
	provisioner     = "csi.example.com"
	annotation      = "volume.kubernetes.io/selected-node"
	pod             = "web-0"
	data, scratch   = "data-web-0", "web-0-scratch" // its claims, of the StatefulSet's template and of an ephemeral volume

	// When a claim is deleted. Only in the second case, a request is held back for that.
	selected, binding, another, started = "once a node is selected", "as the pod is bound", "while another volume is provisioned", "once the pod has started"

	// provisioning is how long it takes to provision a volume.
	provisioning = 3 * time.Second
	// patient is how long a pod on a node may take to start. In this time, the volume controller syncs all claims again, at the interval that is its default.
	patient, resync = 20 * time.Second, 15 * time.Second
)

var ctx = context.Background()

// variant is a StatefulSet in a namespace of its own, and says which claim of its pod is deleted, and when. The class is that of this claim.
type variant struct {
	space, claim, class, when string
	shows                     bool
}

func (v variant) String() string { return fmt.Sprintf("%s, %s, deleted %s", v.claim, v.class, v.when) }

func main() {
	variants := []variant{
		{"a", scratch, late, selected, false}, {"b", scratch, late, started, false}, {"c", scratch, immediate, binding, false},
		{"d", data, immediate, another, false}, {"e", scratch, late, binding, true}, {"f", data, late, another, true},
	}
	config, _ := api.Start()
	classes := fake.NewClientset(class(late, storagev1.VolumeBindingWaitForFirstConsumer), class(immediate, storagev1.VolumeBindingImmediate))
	client := api.Partial(config, classes)
	rig.Create(client.CoreV1().Nodes(), api.Node("node"))
	before := map[string]func(){} // what is done before the binding of a pod, by namespace
	for _, v := range variants {
		api.Namespace(client, v.space)
		if v.when == binding {
			before[v.space] = sync.OnceFunc(func() { v.remove(client) })
		}
	}
	held := rest.CopyConfig(config) // a slow network holds bindings back while that is done
	held.Wrap(rig.Before(func(request *http.Request) {
		if path := strings.Split(request.URL.Path, "/"); path[len(path)-1] == "binding" && before[path[4]] != nil {
			before[path[4]]()
		}
	}))
	control(client, api.Partial(held, classes))
	collector.Over(config)
	go storage(client)
	rig.Variants("a pod waits on its node for a claim that waits for a pod", variants, func(v variant) (string, bool, bool) {
		return v.String(), v.shows, v.waits(client)
	})
}

func class(name string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}
}

// control runs kube-scheduler, with its default configuration and a client of its own, and the controllers of StatefulSets, ephemeral volumes, volumes, and the
// protection of claims.
func control(client, binding kubernetes.Interface) {
	factory := scheduler.NewInformerFactory(client, 0, nil)
	core := factory.Core().V1()
	pods, claims := core.Pods(), core.PersistentVolumeClaims()
	sets, protection := api.StatefulSets(ctx, client, factory), api.ClaimProtection(ctx, client, factory)
	ephemeral := rig.Value(ephemeral.NewController(ctx, client, pods, claims))
	volumes := rig.Value(persistentvolume.NewController(ctx, persistentvolume.ControllerParameters{
		KubeClient: client, SyncPeriod: resync, EnableDynamicProvisioning: true, VolumeInformer: core.PersistentVolumes(), ClaimInformer: claims,
		ClassInformer: factory.Storage().V1().StorageClasses(), PodInformer: pods, NodeInformer: core.Nodes(),
	}))
	api.Schedule(ctx, binding, factory)
	go sets(ctx, 1)
	go protection(ctx, 1)
	go ephemeral.Run(ctx, 1)
	go volumes.Run(ctx)
}

// storage provisions volumes, and starts a pod that is on a node once its claims are bound, as a kubelet does.
func storage(client kubernetes.Interface) {
	core, since := client.CoreV1(), map[types.UID]time.Time{}
	for ; ; time.Sleep(50 * time.Millisecond) {
		pods := rig.List(core.Pods(""), "") // before the claims, so that these are as of when a pod is on a node, or later
		claims := rig.List(core.PersistentVolumeClaims(""), "")
		usable := map[string]bool{}
		for _, claim := range claims.Items {
			usable[claim.Namespace+claim.Name] = claim.Status.Phase == corev1.ClaimBound
			name, asked := "pvc-"+string(claim.UID), claim.Annotations["volume.kubernetes.io/storage-provisioner"] != ""
			if asked && since[claim.UID].IsZero() {
				since[claim.UID] = time.Now()
			}
			if asked && claim.Spec.VolumeName == "" && time.Since(since[claim.UID]) > provisioning {
				_, _ = core.PersistentVolumes().Create(ctx, &corev1.PersistentVolume{
					ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": provisioner}},
					Spec: corev1.PersistentVolumeSpec{
						AccessModes: claim.Spec.AccessModes, Capacity: claim.Spec.Resources.Requests, StorageClassName: *claim.Spec.StorageClassName,
						PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
						ClaimRef:                      &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
						PersistentVolumeSource:        corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: provisioner, VolumeHandle: name}},
					},
				}, metav1.CreateOptions{}) // fails if it is there, and not bound yet
			}
		}
		for _, pod := range pods.Items {
			if pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending && usable[pod.Namespace+data] && usable[pod.Namespace+scratch] {
				pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
				_, _ = core.Pods(pod.Namespace).UpdateStatus(ctx, &pod, metav1.UpdateOptions{}) // again if it conflicts
			}
		}
	}
}

// waits creates the StatefulSet, deletes the claim when it is time for that, and reports whether the pod does not start. Another pod does, which it tries then.
func (v variant) waits(client kubernetes.Interface) bool {
	v.create(client)
	var old types.UID
	if v.when == started || v.when == another {
		v.starts(client)
		old = v.get(client, scratch).UID
	}
	if v.when == another {
		rig.Delete(client.CoreV1().Pods(v.space), pod, *metav1.NewDeleteOptions(0))
	}
	if v.when == another || v.when == selected {
		rig.Until(func() bool {
			claim := v.get(client, scratch)
			return claim.UID != old && claim.Annotations[annotation] != ""
		})
		v.remove(client)
	}
	if v.when == started {
		rig.Delete(client.CoreV1().PersistentVolumeClaims(v.space), v.claim)
		time.Sleep(2 * time.Second) // longer than a claim takes to go
	}
	took, starts := v.starts(client)
	claim := v.get(client, v.claim)
	if starts {
		fmt.Printf("%v: the pod has started; its claim is %s, and being deleted: %v\n", v, claim.Status.Phase, claim.DeletionTimestamp != nil)
		return false
	}
	fmt.Printf("%v: %v after it was placed, the pod has not started; its claim is %s, with the selected node %q\n", v, took, claim.Status.Phase, claim.Annotations[annotation])
	rig.Delete(client.CoreV1().Pods(v.space), pod, *metav1.NewDeleteOptions(0))
	_, starts = v.starts(client)
	fmt.Printf("%v: the pod that replaces this one has started: %v\n", v, starts)
	return true
}

func (v variant) create(client kubernetes.Interface) {
	classes, labels := map[string]string{data: late, scratch: late, v.claim: v.class}, map[string]string{"app": "web"}
	spec := func(claim string) corev1.PersistentVolumeClaimSpec {
		spec := api.Claim(corev1.ReadWriteOnce)
		spec.StorageClassName = new(classes[claim])
		return spec
	}
	template := &corev1.PersistentVolumeClaimTemplate{Spec: spec(scratch)}
	rig.Create(client.AppsV1().StatefulSets(v.space), &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.StatefulSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: "image"}},
			Volumes:    []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: template}}}},
		}},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: spec(data)}},
	}})
}

// get returns a claim, or an empty one if there is none.
func (v variant) get(client kubernetes.Interface, name string) *corev1.PersistentVolumeClaim {
	claim, err := client.CoreV1().PersistentVolumeClaims(v.space).Get(ctx, name, metav1.GetOptions{})
	rig.Found(err)
	return claim
}

// remove deletes the claim, and returns once it has gone.
func (v variant) remove(client kubernetes.Interface) {
	uid := v.get(client, v.claim).UID
	rig.Delete(client.CoreV1().PersistentVolumeClaims(v.space), v.claim)
	rig.Await(time.Millisecond, 10*time.Second, "the claim does not go: "+v.String(), func() bool { return v.get(client, v.claim).UID != uid })
}

// starts waits until the pod is on a node, and then until it has started, and reports whether it has.
func (v variant) starts(client kubernetes.Interface) (took time.Duration, met bool) {
	rig.Await(50*time.Millisecond, time.Minute, "the pod is not placed: "+v.String(), func() bool { return v.pod(client).Spec.NodeName != "" })
	return rig.Wait(50*time.Millisecond, patient, func() bool { return v.pod(client).Status.Phase == corev1.PodRunning })
}

func (v variant) pod(client kubernetes.Interface) *corev1.Pod {
	pod, err := client.CoreV1().Pods(v.space).Get(ctx, pod, metav1.GetOptions{})
	rig.Found(err)
	return pod
}
