package controlplane

import (
	"context"
	"math/rand/v2"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// job draws what a job does, when it has succeeded or failed, and when its pods are replaced.
func (u *person) job(space, name string) batchv1.JobSpec {
	spec := batchv1.JobSpec{
		Completions: new(1 + rand.Int32N(maxReplicas)), Parallelism: new(1 + rand.Int32N(2)), BackoffLimit: new(rand.Int32N(4)), CompletionMode: new(batchv1.NonIndexedCompletion),
		Template: u.template(space, name, u.manifest()), TTLSecondsAfterFinished: timeToLive(),
	}
	spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	actions := []batchv1.PodFailurePolicyAction{batchv1.PodFailurePolicyActionIgnore, batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailJob}
	if rand.IntN(2) == 0 {
		spec.CompletionMode = new(batchv1.IndexedCompletion)
		switch rand.IntN(4) {
		case 0:
			spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(1))}}}
		case 1:
			spec.BackoffLimitPerIndex, spec.MaxFailedIndexes = new(rand.Int32N(2)), []*int32{nil, new(int32(0))}[rand.IntN(2)]
			actions = append(actions, batchv1.PodFailurePolicyActionFailIndex)
		}
	} else if rand.IntN(4) == 0 {
		spec.Completions = nil // one success is enough
	}
	if rand.IntN(4) == 0 {
		spec.PodReplacementPolicy = new(batchv1.Failed)
	}
	if rand.IntN(4) == 0 {
		spec.PodReplacementPolicy = new(batchv1.Failed) // which a policy for failures requires
		rule := batchv1.PodFailurePolicyRule{Action: actions[rand.IntN(len(actions))]}
		if rand.IntN(2) == 0 {
			rule.OnPodConditions = []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
		} else {
			rule.OnExitCodes = &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1}}
		}
		spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{rule}}
	}
	if spec.PodFailurePolicy == nil && spec.BackoffLimitPerIndex == nil && rand.IntN(3) == 0 { // those require Never
		spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	}
	if rand.IntN(6) == 0 {
		spec.ActiveDeadlineSeconds = new(5 + rand.Int64N(30))
	}
	return spec
}

func (u *person) createJob(ctx context.Context, space, name string) error {
	_, err := u.client.BatchV1().Jobs(space).Create(ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: u.job(space, name)}, metav1.CreateOptions{})
	return err
}

// timeToLive draws how long a finished job is kept; nil means for ever.
func timeToLive() *int32 { return []*int32{nil, new(rand.Int32N(10))}[rand.IntN(2)] }

func (u *person) changeJob(ctx context.Context, space, name string) error {
	suspend, live, parallelism := rand.IntN(2) == 0, timeToLive(), rand.Int32N(maxReplicas)
	change := []func(*batchv1.Job){
		func(j *batchv1.Job) { j.Spec.Suspend = &suspend },
		func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = live },
		func(j *batchv1.Job) { j.Spec.Parallelism = &parallelism },
		func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = &parallelism, &parallelism }, // allowed for indexed jobs
	}[rand.IntN(4)]
	return update(ctx, u.client.BatchV1().Jobs(space), name, change)
}

func (u *person) deleteJob(ctx context.Context, space, name string) error {
	return u.client.BatchV1().Jobs(space).Delete(ctx, name, deletion())
}

// applyCronJob creates a cron job that begins a job each minute, or changes the existing one.
func (u *person) applyCronJob(ctx context.Context, space, name string) error {
	policies := []batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent}
	spec := batchv1.CronJobSpec{
		Schedule: "* * * * *", ConcurrencyPolicy: policies[rand.IntN(len(policies))], Suspend: new(rand.IntN(6) == 0), JobTemplate: batchv1.JobTemplateSpec{Spec: u.job(space, name+"-cron")},
		SuccessfulJobsHistoryLimit: new(rand.Int32N(2)), FailedJobsHistoryLimit: new(rand.Int32N(2)), StartingDeadlineSeconds: []*int64{nil, new(20 + rand.Int64N(60))}[rand.IntN(2)],
	}
	return ensure(ctx, u.client.BatchV1().CronJobs(space), name, &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, func(c *batchv1.CronJob) { c.Spec = spec })
}

func (u *person) deleteCronJob(ctx context.Context, space, name string) error {
	return u.client.BatchV1().CronJobs(space).Delete(ctx, name, deletion())
}
