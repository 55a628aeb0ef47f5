// Package jobsets runs the released JobSet over an API server. There are no controllers but its own: the programs do what the Job
// controller and the garbage collector would do.
package jobsets

import (
	"context"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	api "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/controllers"

	apiserver "github.com/watchsim/watchsim/docs/findings/reproducers/controllers/server"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// Attempt is the label with the number of restarts after which a job was created.
const Attempt = "jobset.sigs.k8s.io/restart-attempt"

var (
	ctx   = context.Background()
	types = runtime.NewScheme()
)

func init() {
	ctrl.SetLogger(logr.Discard())
	rig.Must(scheme.AddToScheme(types))
	rig.Must(api.AddToScheme(types))
}

// Start runs an API server with the custom resource of the release.
func Start() (*rest.Config, client.Client) {
	config := apiserver.Start(filepath.Join(apiserver.Source(controllers.NewJobSetReconciler), "../../config/components/crd/bases"))
	c, err := client.New(config, client.Options{Scheme: types})
	rig.Must(err)
	rig.Until(func() bool { err = c.List(ctx, &api.JobSetList{}); return err == nil }) // until it can be discovered as well
	rig.Must(err)
	return config, c
}

// Run runs a replica whose watch of a resource is late until it is stopped, and returns once its informers have begun.
func Run(config *rest.Config, resource string, late time.Duration) (stop func()) {
	options := ctrl.Options{Scheme: types, Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0"}
	options.Controller.SkipNameValidation = new(true) // which is global to the process
	// As in the release, but whoever stops does not keep others waiting until the lease has expired.
	options.LeaderElection, options.LeaderElectionID, options.LeaderElectionNamespace = true, "6d4f6a47.jobset.x-k8s.io", apiserver.Namespace
	options.LeaderElectionReleaseOnCancel = true
	manager := rig.Value(ctrl.NewManager(apiserver.Away(config, apiserver.Late(resource, late)), options))
	replica, cancel := context.WithCancel(ctx)
	rig.Must(controllers.SetupJobSetIndexes(replica, manager.GetFieldIndexer()))
	rig.Must(controllers.SetupPodIndexes(replica, manager.GetFieldIndexer()))
	rig.Must(controllers.NewJobSetReconciler(manager.GetClient(), types, manager.GetEventRecorder("jobset")).SetupWithManager(manager))
	rig.Must(controllers.NewPodReconciler(manager.GetClient(), types, manager.GetEventRecorder("pod")).SetupWithManager(manager))
	done := make(chan struct{})
	go func() { defer close(done); rig.Must(manager.Start(replica)) }()
	manager.GetCache().WaitForCacheSync(replica)
	return func() { cancel(); <-done }
}

// New returns a JobSet with a job for each name, and with what the webhook of the release would set.
func New(name string, jobs ...string) *api.JobSet {
	set := &api.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: apiserver.Namespace, Name: name}}
	set.Spec.Network, set.Spec.SuccessPolicy = &api.Network{EnableDNSHostnames: new(false)}, &api.SuccessPolicy{Operator: api.OperatorAll}
	for _, job := range jobs {
		template := batchv1.JobTemplateSpec{}
		template.Spec.Parallelism, template.Spec.Completions = new(int32(1)), new(int32(1)) // as the API server would set them
		template.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}}
		set.Spec.ReplicatedJobs = append(set.Spec.ReplicatedJobs, api.ReplicatedJob{Name: job, Replicas: 1, Template: template})
	}
	return set
}

// Get returns a job, or nil.
func Get(c client.Client, name string) *batchv1.Job {
	job := &batchv1.Job{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: apiserver.Namespace, Name: name}, job); client.IgnoreNotFound(err) != nil {
		rig.Must(err)
	} else if err != nil {
		return nil
	}
	return job
}

// Finish waits for a job, and lets it complete or fail.
func Finish(c client.Client, name string, how batchv1.JobConditionType) {
	var job *batchv1.Job
	rig.Until(func() bool { job = Get(c, name); return job != nil })
	job.Status.Conditions = []batchv1.JobCondition{{Type: how, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	rig.Must(c.Status().Update(ctx, job))
}

// Collect waits until a job is being deleted in the foreground, and removes it as the garbage collector does once its pods are gone.
func Collect(c client.Client, name string) {
	var job *batchv1.Job
	rig.Until(func() bool { job = Get(c, name); return job.DeletionTimestamp != nil })
	job.Finalizers = nil
	rig.Must(c.Update(ctx, job))
}
