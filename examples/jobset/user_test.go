package jobset

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	api "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

const namespace = metav1.NamespaceDefault

// elsewhere is the name of another controller, which does not exist.
const elsewhere = "example.com/elsewhere"

// user is a program that creates, changes, deletes and recreates JobSets, and deletes what JobSet has created for them.
type user struct {
	names []string      // the fewer there are, the sooner one is used again
	pause time.Duration // between two actions, at most
	cpu   int64         // millicores that a pod requests; a node has 4000
	until time.Time
}

func drawUser(until time.Time) user {
	return user{
		names: []string{"a", "b", "c", "d"}[:1+rand.IntN(4)], pause: oneOf(500*time.Millisecond, 2*time.Second, 5*time.Second),
		cpu: oneOf[int64](100, 1000), until: until,
	}
}

func (u user) run(ctx context.Context, config *rest.Config) error {
	c, err := connect(config)
	if err != nil {
		return err
	}
	actions := []func(context.Context, client.Client, string) error{
		u.create, u.create, u.create, u.create, u.create, u.create, suspend, suspend, changeTemplate, changeTimeToLive, deleteJobSet, deleteJob, deletePod, deleteService,
	}
	for ctx.Err() == nil && time.Now().Before(u.until) {
		bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
		_ = oneOf(actions...)(bounded, c, oneOf(u.names...)) // users try something else then
		cancel()
		time.Sleep(rand.N(u.pause))
	}
	<-ctx.Done()
	return nil
}

// connect returns a client that knows JobSets.
func connect(config *rest.Config) (client.Client, error) {
	return client.New(config, client.Options{Scheme: Scheme()})
}

// oneOf draws one of some values.
func oneOf[T any](values ...T) T { return values[rand.IntN(len(values))] }

// one reports whether something happens that happens once in so many times.
func one(in int) bool { return rand.IntN(in) == 0 }

func (u user) create(ctx context.Context, c client.Client, name string) error {
	set := &api.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	var names []string
	for i := range 1 + rand.IntN(3) {
		r := api.ReplicatedJob{Name: fmt.Sprintf("r%d", i), Replicas: 1 + rand.Int32N(2), GroupName: oneOf("", "g"), Template: batchv1.JobTemplateSpec{Spec: u.job()}}
		if i > 0 && one(3) {
			r.DependsOn = []api.DependsOn{{Name: names[rand.IntN(i)], Status: oneOf(api.DependencyReady, api.DependencyComplete)}}
		}
		set.Spec.ReplicatedJobs, names = append(set.Spec.ReplicatedJobs, r), append(names, r.Name)
	}
	some := func() []string { return names[:rand.IntN(len(names)+1)] } // none means all
	if one(4) {
		set.Spec.StartupPolicy = &api.StartupPolicy{StartupPolicyOrder: api.InOrder}
		for i := range set.Spec.ReplicatedJobs {
			set.Spec.ReplicatedJobs[i].DependsOn = nil
		}
	}
	if one(3) {
		set.Spec.Network = &api.Network{EnableDNSHostnames: new(!one(3)), PublishNotReadyAddresses: new(one(2)), Subdomain: oneOf("", "net-"+name)}
	}
	if one(2) {
		set.Spec.SuccessPolicy = &api.SuccessPolicy{Operator: oneOf(api.OperatorAll, api.OperatorAny), TargetReplicatedJobs: some()}
	}
	if !one(4) {
		set.Spec.FailurePolicy = &api.FailurePolicy{MaxRestarts: rand.Int32N(4), RestartStrategy: oneOf(api.Recreate, api.BlockingRecreate)}
		for range rand.IntN(3) {
			rule := api.FailurePolicyRule{
				Action: oneOf(api.FailJobSet, api.RestartJobSet, api.RestartJobSetAndIgnoreMaxRestarts), TargetReplicatedJobs: some(),
				OnJobFailureReasons: oneOf(nil, []string{batchv1.JobReasonBackoffLimitExceeded}, []string{batchv1.JobReasonPodFailurePolicy, batchv1.JobReasonFailedIndexes}),
			}
			if one(3) {
				rule.OnJobFailureMessagePatterns = []string{"backoff limit|exit code 1"}
			}
			set.Spec.FailurePolicy.Rules = append(set.Spec.FailurePolicy.Rules, rule)
		}
	}
	if r := set.Spec.ReplicatedJobs[0]; one(4) && r.Template.Spec.CompletionMode == nil {
		set.Spec.Coordinator = &api.Coordinator{ReplicatedJob: r.Name, JobIndex: rand.IntN(int(r.Replicas)), PodIndex: rand.IntN(int(*r.Template.Spec.Completions))}
	}
	set.Spec.Suspend, set.Spec.TTLSecondsAfterFinished = oneOf(nil, new(true), new(false)), timeToLive()
	set.Spec.ManagedBy = oneOf(nil, nil, nil, nil, new(api.JobSetControllerName), new(elsewhere))
	return c.Create(ctx, set)
}

// job draws how a job works, succeeds and fails.
func (u user) job() batchv1.JobSpec {
	pod := corev1.PodSpec{TerminationGracePeriodSeconds: new(rand.Int64N(6)), Containers: []corev1.Container{{Name: "c", Image: "image", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(u.cpu, resource.DecimalSI)},
	}}}}
	pod.RestartPolicy = oneOf("", corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever, corev1.RestartPolicyNever)
	n := 1 + rand.Int32N(3)
	spec := batchv1.JobSpec{Parallelism: new(max(1, n-rand.Int32N(2))), Completions: &n, BackoffLimit: new(max(0, rand.Int32N(4)-1)), Template: corev1.PodTemplateSpec{Spec: pod}}
	switch never := pod.RestartPolicy == corev1.RestartPolicyNever; {
	case one(5):
		spec.CompletionMode = new(batchv1.NonIndexedCompletion)
	case never && one(3):
		spec.BackoffLimitPerIndex, spec.BackoffLimit = new(rand.Int32N(2)), nil
	case never && one(3):
		action := oneOf(batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionCount)
		spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
			{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}},
			{Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1}}},
		}}
	case one(5):
		spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(1))}}}
	}
	if one(4) {
		spec.PodReplacementPolicy = new(batchv1.Failed)
	}
	return spec
}

// timeToLive draws how long a finished JobSet is kept; nil means for ever.
func timeToLive() *int32 { return oneOf(nil, nil, new(rand.Int32N(20))) }

// change changes an existing JobSet.
func change(ctx context.Context, c client.Client, name string, how func(*api.JobSetSpec)) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		set := &api.JobSet{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, set); err != nil {
			return err
		}
		how(&set.Spec)
		return c.Update(ctx, set)
	})
}

func suspend(ctx context.Context, c client.Client, name string) error {
	to := one(2)
	return change(ctx, c, name, func(s *api.JobSetSpec) { s.Suspend = &to })
}

// changeTemplate suspends a JobSet and sends its pods elsewhere, as Kueue does.
func changeTemplate(ctx context.Context, c client.Client, name string) error {
	node := fmt.Sprintf("node-%d", rand.IntN(2))
	return change(ctx, c, name, func(s *api.JobSetSpec) {
		s.Suspend = new(true)
		for i := range s.ReplicatedJobs {
			template := &s.ReplicatedJobs[i].Template.Spec.Template
			metav1.SetMetaDataLabel(&template.ObjectMeta, "example.com/node", node)
			template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
		}
	})
}

func changeTimeToLive(ctx context.Context, c client.Client, name string) error {
	to := timeToLive()
	return change(ctx, c, name, func(s *api.JobSetSpec) { s.TTLSecondsAfterFinished = to })
}

func deleteJobSet(ctx context.Context, c client.Client, name string) error {
	policy := oneOf(metav1.DeletePropagationBackground, metav1.DeletePropagationForeground)
	return c.Delete(ctx, &api.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, client.PropagationPolicy(policy))
}

// deleteJob deletes a job of a JobSet, and deletePod a pod.
func deleteJob(ctx context.Context, c client.Client, name string) error {
	var jobs batchv1.JobList
	if err := c.List(ctx, &jobs, client.InNamespace(namespace), client.MatchingLabels{api.JobSetNameKey: name}); err != nil || len(jobs.Items) == 0 {
		return err
	}
	return c.Delete(ctx, &jobs.Items[rand.IntN(len(jobs.Items))], client.PropagationPolicy(metav1.DeletePropagationBackground))
}

func deletePod(ctx context.Context, c client.Client, name string) error {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{api.JobSetNameKey: name}); err != nil || len(pods.Items) == 0 {
		return err
	}
	return c.Delete(ctx, &pods.Items[rand.IntN(len(pods.Items))])
}

func deleteService(ctx context.Context, c client.Client, name string) error {
	return c.Delete(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: oneOf(name, "net-"+name)}})
}
