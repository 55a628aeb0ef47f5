// Package crons runs the released CronJob and Job controllers against the API server of package api.
package crons

import (
	"context"
	"net/http"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/controller/cronjob"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/jobs"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const name = "a"

var ctx = context.Background()

// Cluster has an API server, the Job controller and a kubelet.
type Cluster struct {
	Client kubernetes.Interface
	config *rest.Config
}

// Start starts a cluster.
func Start() *Cluster {
	config, client := api.Start()
	c := &Cluster{client, config}
	api.Control(ctx, c.Client, "", 5, api.Jobs)
	go jobs.Kubelet(c.Client, corev1.PodFailed)
	return c
}

// Create creates a namespace with a CronJob of a spec, to which it adds the Job, with one pod that runs until it is ended.
func (c *Cluster) Create(space string, spec batchv1.CronJobSpec) *batchv1.CronJob {
	api.Namespace(c.Client, space)
	spec.JobTemplate.Spec = jobs.Spec(1, 1)
	cron := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	return rig.Create(c.Client.BatchV1().CronJobs(space), cron)
}

// Control runs the CronJob controller for one namespace until it is stopped. Its requests go through wrap, which may be nil.
func (c *Cluster) Control(ctx context.Context, space string, wrap func(http.RoundTripper) http.RoundTripper) {
	config := rest.CopyConfig(c.config)
	if wrap != nil {
		config.Wrap(wrap)
	}
	client := kubernetes.NewForConfigOrDie(config)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(space))
	controller := rig.Value(cronjob.NewControllerV2(ctx, factory.Batch().V1().Jobs(), factory.Batch().V1().CronJobs(), client))
	factory.Start(ctx.Done())
	go controller.Run(ctx, 1)
}

// Active returns the names in status.active of a namespace's CronJob.
func (c *Cluster) Active(space string) []string {
	cron := rig.Get(c.Client.BatchV1().CronJobs(space), name)
	names := []string{}
	for _, active := range cron.Status.Active {
		names = append(names, active.Name)
	}
	return names
}

// Jobs returns the Jobs of a namespace.
func (c *Cluster) Jobs(space string) []batchv1.Job {
	return rig.List(c.Client.BatchV1().Jobs(space), "").Items
}

// Until waits until the Jobs of a namespace are as wanted, and reports whether it came to that in time.
func (c *Cluster) Until(space string, patient time.Duration, wanted func([]batchv1.Job) bool) bool {
	_, met := rig.Wait(20*time.Millisecond, patient, func() bool { return wanted(c.Jobs(space)) })
	return met
}

// Started waits until a namespace has a Job with a running pod, and returns it.
func (c *Cluster) Started(space string) (job *batchv1.Job) {
	rig.Await(20*time.Millisecond, 2*time.Minute, "the CronJob starts no Job", func() bool {
		if all := c.Jobs(space); len(all) > 0 && all[0].Status.Active > 0 {
			job = &all[0]
		}
		return job != nil
	})
	return job
}

// Succeed lets the pod of a Job succeed, and waits until the Job is finished.
func (c *Cluster) Succeed(job *batchv1.Job) {
	rig.Await(20*time.Millisecond, 20*time.Second, "the Job does not finish", func() bool {
		for _, pod := range rig.List(c.Client.CoreV1().Pods(job.Namespace), "").Items {
			if metav1.IsControlledBy(&pod, job) && pod.Status.Phase == corev1.PodRunning {
				pod.Status.Phase = corev1.PodSucceeded
				_, _ = c.Client.CoreV1().Pods(job.Namespace).UpdateStatus(ctx, &pod, metav1.UpdateOptions{}) // again if it conflicts
			}
		}
		return slices.ContainsFunc(c.Jobs(job.Namespace), func(j batchv1.Job) bool { return j.UID == job.UID && jobs.Finished(&j) })
	})
}
