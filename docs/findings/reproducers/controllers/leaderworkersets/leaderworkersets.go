// Package leaderworkersets runs the released controllers of LeaderWorkerSet over an API server, without their webhooks. A program plays the StatefulSet
// controller and the kubelet.
package leaderworkersets

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"
	"sigs.k8s.io/lws/pkg/controllers"
	"sigs.k8s.io/lws/pkg/webhooks"

	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/server"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

var ctx = context.Background()

// Cluster is an API server with the controllers, and a client of it that has no cache.
type Cluster struct {
	client.Client
	revisions *revisions
}

// Start runs an API server and the controllers, whose requests pass through wrap, if it is given.
func Start(wrap transport.WrapperFunc) *Cluster {
	ctrl.SetLogger(logr.Discard())
	config := server.Start(filepath.Join(server.Source(controllers.SetupIndexes), "../../config/crd/bases"))
	scheme := runtime.NewScheme()
	rig.Must(clientgoscheme.AddToScheme(scheme))
	rig.Must(lwsv1.AddToScheme(scheme))
	direct, err := client.New(config, client.Options{Scheme: scheme})
	rig.Must(err)
	rig.Until(func() bool {
		_, err = direct.RESTMapper().RESTMapping(lwsv1.GroupVersion.WithKind("LeaderWorkerSet").GroupKind(), "v1")
		return err == nil
	})
	rig.Must(err)
	c := &Cluster{direct, newRevisions(scheme)}

	wrapped := rest.CopyConfig(config)
	wrapped.Wrap(wrap)
	options := ctrl.Options{Scheme: scheme, NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
		cached, err := client.New(config, options)
		return &split{cached, c.revisions}, err
	}}
	options.Metrics.BindAddress = "0"
	manager := rig.Value(ctrl.NewManager(wrapped, options))
	both := manager.GetClient()
	rig.Must(controllers.SetupIndexes(manager.GetFieldIndexer()))
	rig.Must(controllers.NewLeaderWorkerSetReconciler(both, scheme, manager.GetEventRecorder("leaderworkerset")).SetupWithManager(manager))
	rig.Must(controllers.NewPodReconciler(both, scheme, manager.GetEventRecorder("leaderworkerset"), nil).SetupWithManager(manager))
	go func() { rig.Must(manager.Start(ctx)) }()
	rig.Until(func() bool { return manager.GetCache().WaitForCacheSync(ctx) })
	return c
}

// Key returns the name of an object in the namespace of all objects.
func Key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: server.Namespace, Name: name}
}

// Create creates a set with the defaults of the webhook.
func (c *Cluster) Create(name string, image string, replicas, size, partition int32) {
	set := &lwsv1.LeaderWorkerSet{ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace, Name: name}}
	set.Spec.Replicas = new(replicas)
	set.Spec.LeaderWorkerTemplate.Size = new(size)
	set.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers = []corev1.Container{{Name: "c", Image: image}}
	set.Spec.RolloutStrategy.RollingUpdateConfiguration = &lwsv1.RollingUpdateConfiguration{MaxUnavailable: intstr.FromInt32(1), Partition: new(partition)}
	set.Spec.StartupPolicy = lwsv1.LeaderCreatedStartupPolicy
	rig.Must((&webhooks.LeaderWorkerSetWebhook{}).Default(ctx, set))
	rig.Must(c.Client.Create(ctx, set))
}

// Change changes a set.
func (c *Cluster) Change(name string, change func(*lwsv1.LeaderWorkerSetSpec)) {
	rig.Must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		set := c.Set(name)
		change(&set.Spec)
		return c.Update(ctx, set)
	}))
}

// Image returns a change of the image of all pods.
func Image(image string) func(*lwsv1.LeaderWorkerSetSpec) {
	return func(spec *lwsv1.LeaderWorkerSetSpec) {
		spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = image
	}
}

// Set returns a set.
func (c *Cluster) Set(name string) *lwsv1.LeaderWorkerSet {
	set := &lwsv1.LeaderWorkerSet{}
	rig.Must(c.Get(ctx, Key(name), set))
	return set
}

// StatefulSet waits until a StatefulSet meets a condition, and returns it.
func (c *Cluster) StatefulSet(name string, meets func(*appsv1.StatefulSet) bool) *appsv1.StatefulSet {
	var set *appsv1.StatefulSet
	met := rig.Until(func() bool {
		set = &appsv1.StatefulSet{}
		return c.Get(ctx, Key(name), set) == nil && meets(set)
	})
	if !met {
		rig.Must(fmt.Errorf("the StatefulSet %s is not as expected", name))
	}
	return set
}

// Has returns whether the template of a StatefulSet has an image.
func Has(image string) func(*appsv1.StatefulSet) bool {
	return func(s *appsv1.StatefulSet) bool { return s.Spec.Template.Spec.Containers[0].Image == image }
}

// NewLeader creates the leader of a group with the template of its StatefulSet, as the StatefulSet controller and the webhook for pods do.
func (c *Cluster) NewLeader(of *appsv1.StatefulSet, group string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *of.Spec.Template.ObjectMeta.DeepCopy(), Spec: of.Spec.Template.Spec}
	pod.Namespace, pod.Name = of.Namespace, of.Name+"-"+group
	pod.Labels[lwsv1.GroupIndexLabelKey] = group
	pod.Labels[lwsv1.GroupUniqueHashLabelKey] = pod.Name
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(of, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
	rig.Must(c.Client.Create(ctx, pod))
	return pod
}

// Lag has the controllers observe ControllerRevisions only some time after their creation.
func (c *Cluster) Lag(lag time.Duration) { c.revisions.lag.Store(int64(lag)) }
