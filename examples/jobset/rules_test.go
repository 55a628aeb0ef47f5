package jobset

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	machinery "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	api "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/constants"
	"sigs.k8s.io/jobset/pkg/controllers"
	"sigs.k8s.io/jobset/pkg/util/placement"

	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
)

// rule is an invariant of every state that etcd has held: how a change breaks it, "" if it does not. The judge is in the state before the
// change; before or after is nil if the object did not exist or does not exist any more.
type rule[T any] struct {
	name, promise, source string
	broken                func(j *judge, before, after *T, rv int64) string
}

var setRules = []rule[api.JobSet]{
	{"OutcomeIsFinal", "A JobSet that has completed or failed stays so.", "JobSetStatus.terminalState: the state when it finishes execution", outcomeIsFinal},
	{"RestartsCount", "A JobSet restarts once at a time, and no more than maxRestarts times, besides restarts that ignore that.",
		"FailurePolicyAction: RestartJobSet bumps restarts and restartsCountTowardsMax by 1 if that is less than maxRestarts", restartsCount},
	{"AsDecided", "A JobSet completes, fails and restarts only as its policies say.",
		"SuccessPolicy.operator; FailurePolicy.rules: only the first matching rule is executed, and RestartJobSet if there is none", asDecided},
	{"SetIsKept", "JobSet deletes a JobSet only if it has finished and has a TTL.", "JobSetSpec.ttlSecondsAfterFinished: if this field is unset, the JobSet won't be automatically deleted", setIsKept},
}

var jobRules = []rule[batchv1.Job]{
	{"JobIsKept", "JobSet deletes only jobs of earlier attempts, and those of a finished JobSet.",
		"JobSetStatus.restarts: the number of times that a restart action has led to the recreation of all jobs", jobIsKept},
	{"Blocking", "With the strategy BlockingRecreate, no job is created before all jobs of earlier attempts are deleted.",
		"JobSetRestartStrategy: ensures that all Jobs (and their Pods) from the previous iteration are deleted before creating new Jobs", blocking},
	{"InOrder", "A job begins after those that it is to wait for have been ready or complete.",
		"ReplicatedJob.dependsOn: created only after the referenced ReplicatedJobs reach their desired state; StartupPolicy: started only when all the jobs of the previous one are ready", inOrder},
	{"AsAsked", "JobSet creates no job that its JobSet does not ask for.",
		"ReplicatedJob.replicas: jobs are named <jobSet.name>-<spec.replicatedJob.name>-<job-index>; JobSetSpec.managedBy", asAsked},
	{"AtRest", "JobSet begins no job of a JobSet of which it has known for a while that it is suspended or has finished.",
		"JobSetSpec.suspend: suspends all running child jobs; kubernetes-sigs/jobset #162: a finished JobSet has no active jobs", atRest},
}

// judge knows the state of the cluster at a revision, and what had happened before.
type judge struct {
	sets  map[types.UID]*set
	wrote map[int64]*model.Operation    // by JobSet: the requests that have changed an object or begun its deletion, by revision
	told  map[string]*explain.Explainer // by resource
	note  func(resource, why string)
}

// The resources that rules are about.
const (
	jobSets = "jobsets.jobset.x-k8s.io"
	allJobs = "jobs.batch"
)

// set is a JobSet, with all jobs that it has ever had.
type set struct {
	*api.JobSet // in its last state
	jobs        map[types.UID]*job
	born        int64 // the revision that created it
	rests       int64 // the revision since which it is suspended or has finished, 0 if neither
}

// job is the last state of a job, and what it has ever been.
type job struct {
	*batchv1.Job
	born                          int64
	ready, complete, failed, gone bool
}

// check applies the rules to all states, and says of each rule how it was first broken.
func check(seen simtest.Seen) error {
	j := &judge{sets: map[types.UID]*set{}, wrote: map[int64]*model.Operation{}, told: map[string]*explain.Explainer{}, note: seen.Unjudged}
	for _, resource := range []string{jobSets, allJobs} {
		if history := seen.Histories[resource]; history != nil {
			j.told[resource] = explain.New(history)
		}
		for _, request := range seen.Requests[resource] {
			if op := request.Op; strings.HasPrefix(op.Client, programs) && op.Err == model.OK && op.ResultRV != 0 && (op.IsWrite() || request.Kind == model.Delete) {
				op.Kind = request.Kind // a deletion that begins is answered with an object, and a history has it as a read
				j.wrote[op.ResultRV] = &op
			}
		}
	}
	var errs []error
	said := map[string]bool{}
	decoder := serializer.NewCodecFactory(Scheme()).UniversalDeserializer()
	oldSets, oldJobs := map[string]*api.JobSet{}, map[string]*batchv1.Job{}
	for _, change := range seen.Committed.Changes {
		key := change.Object.Name
		switch {
		case strings.HasPrefix(key, "/registry/jobset.x-k8s.io/jobsets/"):
			after, err := decode[api.JobSet](decoder, change)
			if err != nil {
				return err
			}
			errs = append(errs, apply(j, setRules, oldSets[key], after, change.RV, said)...)
			j.recordSet(after, change.RV)
			oldSets[key] = after
		case strings.HasPrefix(key, "/registry/jobs/"):
			after, err := decode[batchv1.Job](decoder, change)
			if err != nil {
				return err
			}
			errs = append(errs, apply(j, jobRules, oldJobs[key], after, change.RV, said)...)
			j.recordJob(oldJobs[key], after, change.RV)
			oldJobs[key] = after
		}
	}
	return errors.Join(errs...)
}

// decode returns an object as a change has left it, nil if it is deleted.
func decode[T any](decoder machinery.Decoder, change model.Change) (*T, error) {
	if change.Deleted {
		return nil, nil
	}
	decoded, _, err := decoder.Decode([]byte(change.Object.Value), nil, nil)
	if err != nil {
		return nil, err
	}
	return any(decoded).(*T), nil
}

func apply[T any](j *judge, rules []rule[T], before, after *T, rv int64, said map[string]bool) (errs []error) {
	for _, r := range rules {
		if text := r.broken(j, before, after, rv); text != "" && !said[r.name] {
			said[r.name] = true
			errs = append(errs, fmt.Errorf("%s is broken at revision %d: %s. %s (%s)", r.name, rv, text, r.promise, r.source))
		}
	}
	return errs
}

func (j *judge) recordSet(after *api.JobSet, rv int64) {
	if after == nil {
		return
	}
	s := j.sets[after.UID]
	if s == nil {
		s = &set{jobs: map[types.UID]*job{}, born: rv}
		j.sets[after.UID] = s
	}
	s.JobSet = after
	switch rests := ptr.Deref(after.Spec.Suspend, false) || outcome(after) != ""; {
	case !rests:
		s.rests = 0
	case s.rests == 0:
		s.rests = rv
	}
}

func (j *judge) recordJob(before, after *batchv1.Job, rv int64) {
	if s := j.of(before); s != nil && (after == nil || after.UID != before.UID) {
		s.jobs[before.UID].gone = true
	}
	s := j.of(after)
	if s == nil {
		return
	}
	if s.jobs[after.UID] == nil {
		s.jobs[after.UID] = &job{born: rv}
	}
	known := s.jobs[after.UID]
	known.Job = after
	pods := min(*after.Spec.Parallelism, ptr.Deref(after.Spec.Completions, *after.Spec.Parallelism))
	_, outcome := controllers.JobFinished(after)
	known.complete = known.complete || outcome == batchv1.JobComplete
	known.failed = known.failed || outcome == batchv1.JobFailed
	known.ready = known.ready || outcome != "" || after.Status.Succeeded+ptr.Deref(after.Status.Ready, 0) >= pods
}

// of returns the JobSet of a job, nil for none.
func (j *judge) of(o *batchv1.Job) *set {
	if o == nil || metav1.GetControllerOf(o) == nil {
		return nil
	}
	return j.sets[metav1.GetControllerOf(o).UID]
}

// attempt returns which attempt of its JobSet a job belongs to.
func attempt(o *batchv1.Job) int32 {
	n, _ := strconv.Atoi(o.Labels[constants.RestartsKey])
	return int32(n)
}

// outcome returns whether a JobSet is Completed or Failed, "" if it has not finished.
func outcome(s *api.JobSet) api.JobSetConditionType {
	for _, c := range s.Status.Conditions {
		if c.Status == metav1.ConditionTrue && (c.Type == string(api.JobSetCompleted) || c.Type == string(api.JobSetFailed)) {
			return api.JobSetConditionType(c.Type)
		}
	}
	return ""
}

func outcomeIsFinal(_ *judge, before, after *api.JobSet, _ int64) string {
	if after == nil || before != nil && before.UID != after.UID {
		return ""
	}
	had, has := api.JobSetConditionType(""), outcome(after)
	if before != nil {
		had = outcome(before)
	}
	if after.Status.TerminalState != string(has) || had != "" && (had != has || before.Status.Restarts != after.Status.Restarts) {
		return fmt.Sprintf("JobSet %s was %q, and is %q with terminalState %q", after.Name, had, has, after.Status.TerminalState)
	}
	return ""
}

func restartsCount(_ *judge, before, after *api.JobSet, _ int64) string {
	if before == nil || after == nil || before.UID != after.UID {
		return ""
	}
	all, counted := after.Status.Restarts-before.Status.Restarts, after.Status.RestartsCountTowardsMax-before.Status.RestartsCountTowardsMax
	most := ptr.Deref(after.Spec.FailurePolicy, api.FailurePolicy{}).MaxRestarts
	if all < 0 || all > 1 || counted < 0 || counted > all || after.Status.RestartsCountTowardsMax > most {
		return fmt.Sprintf("JobSet %s, whose maxRestarts is %d, has restarted %d times, of which %d count, after %d and %d", after.Name, most,
			after.Status.Restarts, after.Status.RestartsCountTowardsMax, before.Status.Restarts, before.Status.RestartsCountTowardsMax)
	}
	return ""
}

// asDecided checks that jobs justify what has happened to a JobSet. Several may have failed before, of which JobSet had observed any.
func asDecided(j *judge, before, after *api.JobSet, _ int64) string {
	if before == nil || after == nil || before.UID != after.UID || before.Status.Restarts == after.Status.Restarts && outcome(before) == outcome(after) {
		return ""
	}
	what := fmt.Sprint("restarts, which counts: ", after.Status.RestartsCountTowardsMax > before.Status.RestartsCountTowardsMax)
	if now := outcome(after); now != "" {
		what = string(now)
	}
	complete, failures := map[string]bool{}, []string(nil)
	for _, job := range j.sets[after.UID].jobs {
		name := job.Labels[api.ReplicatedJobNameKey]
		if attempt(job.Job) != before.Status.Restarts {
			continue
		}
		if job.failed {
			decision := reaction(before, job.Job)
			if decision == what {
				return ""
			}
			failures = append(failures, fmt.Sprintf("%s: %s", job.Name, decision))
		}
		if job.complete && targeted(before, name) {
			complete[job.Name] = true
		}
	}
	wanted := 0
	for _, r := range before.Spec.ReplicatedJobs {
		if targeted(before, r.Name) {
			wanted += int(r.Replicas)
		}
	}
	if before.Spec.SuccessPolicy.Operator == api.OperatorAny {
		wanted = 1
	}
	if what == string(api.JobSetCompleted) && len(complete) >= wanted {
		return ""
	}
	return fmt.Sprintf("JobSet %s: %s. Of its jobs, %d of %d that it needs are complete; to failures it should react so: %q", after.Name, what, len(complete), wanted, failures)
}

// targeted reports whether the success policy targets a replicated job.
func targeted(s *api.JobSet, name string) bool {
	targets := s.Spec.SuccessPolicy.TargetReplicatedJobs
	return len(targets) == 0 || slices.Contains(targets, name)
}

// reaction says what a failed job should do to its JobSet.
func reaction(s *api.JobSet, failed *batchv1.Job) string {
	policy := s.Spec.FailurePolicy
	if policy == nil {
		return string(api.JobSetFailed)
	}
	action := api.RestartJobSet
	for _, r := range policy.Rules {
		if matches(r, failed) {
			action = r.Action
			break
		}
	}
	if action == api.FailJobSet || action == api.RestartJobSet && s.Status.RestartsCountTowardsMax >= policy.MaxRestarts {
		return string(api.JobSetFailed)
	}
	return fmt.Sprint("restarts, which counts: ", action == api.RestartJobSet)
}

// matches reports whether a rule applies to a failed job.
func matches(r api.FailurePolicyRule, failed *batchv1.Job) bool {
	for _, c := range failed.Status.Conditions {
		if c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue {
			return (len(r.OnJobFailureReasons) == 0 || slices.Contains(r.OnJobFailureReasons, c.Reason)) &&
				(len(r.TargetReplicatedJobs) == 0 || slices.Contains(r.TargetReplicatedJobs, failed.Labels[api.ReplicatedJobNameKey])) &&
				(len(r.OnJobFailureMessagePatterns) == 0 || slices.ContainsFunc(r.OnJobFailureMessagePatterns, func(pattern string) bool {
					return regexp.MustCompile(pattern).MatchString(c.Message)
				}))
		}
	}
	return false
}

func setIsKept(j *judge, before, after *api.JobSet, rv int64) string {
	if before == nil || !j.begunDeletion(before.DeletionTimestamp, after == nil || after.DeletionTimestamp != nil, rv) {
		return ""
	}
	if outcome(before) != "" && before.Spec.TTLSecondsAfterFinished != nil || j.unseen(jobSets, j.wrote[rv], j.sets[before.UID].born, "the TTL of a JobSet deletes another one of its name") {
		return ""
	}
	return fmt.Sprintf("%s deletes JobSet %s, with outcome %q and TTL %v", j.wrote[rv].Client, before.Name, outcome(before), before.Spec.TTLSecondsAfterFinished)
}

// begunDeletion reports whether a request of JobSet has begun a deletion at a revision.
func (j *judge) begunDeletion(before *metav1.Time, after bool, rv int64) bool {
	by := j.wrote[rv]
	return by != nil && by.Kind == model.Delete && before == nil && after
}

func jobIsKept(j *judge, before, after *batchv1.Job, rv int64) string {
	s := j.of(before)
	if s == nil || !j.begunDeletion(before.DeletionTimestamp, after == nil || after.DeletionTimestamp != nil, rv) || outcome(s.JobSet) != "" || attempt(before) < s.Status.Restarts ||
		j.unseen(allJobs, j.wrote[rv], s.jobs[before.UID].born, "a replica deletes the successor of a job, which it has not observed") {
		return ""
	}
	return fmt.Sprintf("%s deletes job %s of attempt %d, and its JobSet, with UID %s, is at attempt %d", j.wrote[rv].Client, before.Name, attempt(before), s.UID, s.Status.Restarts)
}

// creates reports whether a change creates a job.
func creates(before, after *batchv1.Job) bool {
	return after != nil && (before == nil || before.UID != after.UID)
}

// begins reports whether a change creates a job that is not suspended, or resumes one.
func begins(before, after *batchv1.Job) bool {
	return after != nil && !*after.Spec.Suspend && (creates(before, after) || *before.Spec.Suspend)
}

func blocking(j *judge, before, after *batchv1.Job, rv int64) string {
	s := j.of(after)
	if s == nil || !creates(before, after) || s.Spec.FailurePolicy == nil || s.Spec.FailurePolicy.RestartStrategy != api.BlockingRecreate {
		return ""
	}
	for _, other := range s.jobs {
		if !other.gone && attempt(other.Job) < attempt(after) && !j.unseen(allJobs, j.wrote[rv], other.born, "a replica creates a job beside one of an earlier attempt, which it has not observed") {
			return fmt.Sprintf("job %s of attempt %d is created, and job %s of attempt %d exists", after.Name, attempt(after), other.Name, attempt(other.Job))
		}
	}
	return ""
}

func inOrder(j *judge, before, after *batchv1.Job, _ int64) string {
	s := j.of(after)
	if s == nil || !begins(before, after) && !creates(before, after) {
		return ""
	}
	until := map[string]api.DependsOnStatus{}
	for _, r := range s.Spec.ReplicatedJobs {
		if r.Name == after.Labels[api.ReplicatedJobNameKey] {
			for _, on := range r.DependsOn {
				until[on.Name] = on.Status
			}
			break
		}
		if s.Spec.StartupPolicy.StartupPolicyOrder == api.InOrder && begins(before, after) {
			until[r.Name] = api.DependencyReady
		}
	}
	for _, r := range s.Spec.ReplicatedJobs {
		reached := map[string]bool{}
		for _, other := range s.jobs {
			if attempt(other.Job) >= attempt(after) && (other.complete || other.ready && until[r.Name] == api.DependencyReady) {
				reached[other.Name] = true
			}
		}
		for i := range int(r.Replicas) {
			if name := placement.GenJobName(s.Name, r.Name, i); until[r.Name] != "" && !reached[name] {
				return fmt.Sprintf("job %s of attempt %d begins before job %s is %s", after.Name, attempt(after), name, until[r.Name])
			}
		}
	}
	return ""
}

func asAsked(j *judge, before, after *batchv1.Job, _ int64) string {
	s := j.of(after)
	if s == nil || !creates(before, after) {
		return ""
	}
	for _, r := range s.Spec.ReplicatedJobs {
		index, err := strconv.Atoi(after.Labels[api.JobIndexKey])
		if err == nil && index < int(r.Replicas) && after.Name == placement.GenJobName(s.Name, r.Name, index) && attempt(after) <= s.Status.Restarts && ptr.Deref(s.Spec.ManagedBy, "") != elsewhere {
			return ""
		}
	}
	return fmt.Sprintf("job %s of attempt %d is created for a JobSet at attempt %d, which has no such job", after.Name, attempt(after), s.Status.Restarts)
}

// unseen notes a known bug of JobSet: it had not observed an object, created at a revision, when it sent a request. It deletes by name, without the UID
// as a precondition, and a new leader does not wait until its cache of jobs is as new as what it knows of JobSets.
func (j *judge) unseen(resource string, by *model.Operation, created int64, what string) bool {
	if by == nil || j.told[resource] == nil {
		return false
	}
	told := j.told[resource].Told(by.Client, created)
	if told != model.Pending && told <= by.Call {
		return false
	}
	j.note(resource, what)
	return true
}

// known is how long JobSet must have known of a change to be expected to act on it: goroutines stall.
const known = 10 * time.Second

func atRest(j *judge, before, after *batchv1.Job, rv int64) string {
	s, by := j.of(after), j.wrote[rv]
	if s == nil || by == nil || j.told[jobSets] == nil || s.rests == 0 || !begins(before, after) {
		return ""
	}
	if told := j.told[jobSets].Told(by.Client, s.rests); told != model.Pending && told+int64(known) < by.Call {
		return fmt.Sprintf("%s begins job %s, and has known since %s that JobSet %s is suspended or has finished", by.Client, after.Name, model.At(told), s.Name)
	}
	return ""
}
