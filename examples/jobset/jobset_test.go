package jobset

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	api "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/controllers"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/simtest"
)

// programs is the prefix of the names of the replicas of JobSet.
const programs = "jobset-"

// within is how long the user acts and faults happen.
const within = time.Minute

// JobSets run their jobs, restart them and come to an end as their policies say, whatever the user does and despite faults.
func TestJobSets(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	plane := &controlplane.Plane{}
	config := simtest.Config{Servers: 2, CRDs: []string{Release() + "/config/components/crd/bases"}, Check: check, Patience: 20 * time.Minute}
	config.Boot = func(t *simtest.T, c *simtest.Cluster) {
		certificate, err := Install(t.Context(), c, programs+"0", programs+"1")
		require.NoError(t, err)
		for i := range 2 {
			c.Go(fmt.Sprint(programs, i), func(ctx context.Context, config *rest.Config) error { return Run(ctx, config, certificate) })
		}
		api, err := connect(c.Config())
		require.NoError(t, err)
		c.Eventually(func() error { return (user{cpu: 1}).create(t.Context(), client.NewDryRunClient(api), "first") }) // the webhooks answer
	}
	simtest.Seeds(t, plane.Config(config, 2), func(t *simtest.T, c *simtest.Cluster) {
		until := time.Now().Add(within)
		plane.Workload = controlplane.Workload{Start: rand.N(3 * time.Second), End: rand.N(6 * time.Second), Work: rand.N(10 * time.Second), FailOneIn: oneOf(0, 2, 3, 6),
			UnreadyOneIn: rand.IntN(4), EvictOneIn: oneOf(0, 0, 4, 16), Healthy: until}
		api, err := connect(c.Config())
		require.NoError(t, err)
		c.Go("user", drawUser(until).run)
		restored := plane.Administer(c, controlplane.Usage{Groups: oneOf(nil, nil, []controlplane.Group{controlplane.Nodes}, []controlplane.Group{controlplane.Leaders})}, until)
		c.Faults(within)
		for time.Now().Before(until) {
			time.Sleep(time.Second)
			_ = settled(t, api, false)
		}
		c.Eventually(func() error {
			select {
			case <-restored:
			default:
				return fmt.Errorf("administrators have not brought all nodes back")
			}
			return settled(t, api, false)
		})
		c.Eventually(func() error { return resume(t.Context(), api) })
		c.Eventually(func() error { return settled(t, api, true) })
		untyped := dynamic.NewForConfigOrDie(c.Config())
		c.Eventually(func() error { return controlplane.Settled(t.Context(), c.Client(), untyped) })
		c.Eventually(func() error { return controlplane.Quiet(t.Context(), c.Client(), untyped, time.Minute) })
	})
}

// look says which states of JobSets are reached.
func look(t *simtest.T, sets []api.JobSet) {
	is := func(what string, holds func(*api.JobSet) bool) {
		t.Sometimes(what, slices.ContainsFunc(sets, func(s api.JobSet) bool { return holds(&s) }))
	}
	is("a JobSet that has completed", func(s *api.JobSet) bool { return outcome(s) == api.JobSetCompleted })
	is("a JobSet that has failed", func(s *api.JobSet) bool { return outcome(s) == api.JobSetFailed })
	is("a JobSet that has failed after a restart", func(s *api.JobSet) bool { return outcome(s) == api.JobSetFailed && s.Status.Restarts > 0 })
	is("a restart that does not count", func(s *api.JobSet) bool { return s.Status.Restarts > s.Status.RestartsCountTowardsMax })
	is("a second restart", func(s *api.JobSet) bool { return s.Status.Restarts > 1 })
	is("a restart with BlockingRecreate", func(s *api.JobSet) bool {
		return s.Status.Restarts > 0 && s.Spec.FailurePolicy.RestartStrategy == api.BlockingRecreate
	})
	is("a JobSet that is resumed", func(s *api.JobSet) bool {
		return meta.IsStatusConditionFalse(s.Status.Conditions, string(api.JobSetSuspended))
	})
	is("a JobSet that is being deleted", func(s *api.JobSet) bool { return s.DeletionTimestamp != nil })
}

// settled returns an error until each JobSet, its jobs and its service are as the API promises. When all are resumed, all must finish.
func settled(t *simtest.T, c client.Client, finish bool) error {
	var sets api.JobSetList
	var jobs batchv1.JobList
	var services corev1.ServiceList
	for _, list := range []client.ObjectList{&sets, &jobs, &services} {
		if err := c.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
			return err
		}
	}
	look(t, sets.Items)
	living, byOwner := map[types.UID]bool{}, map[types.UID][]batchv1.Job{}
	for _, s := range sets.Items {
		living[s.UID] = true
	}
	for _, o := range jobs.Items {
		byOwner[ownerOf(&o)] = append(byOwner[ownerOf(&o)], o)
	}
	for _, s := range sets.Items {
		if err := wrong(&s, byOwner[s.UID], services.Items, finish); err != nil {
			return fmt.Errorf("JobSet %s, with UID %s and %+v: %w", s.Name, s.UID, s.Status, err)
		}
	}
	for _, o := range jobs.Items {
		if !living[ownerOf(&o)] || o.DeletionTimestamp != nil {
			return fmt.Errorf("job %s is left, with finalizers %q", o.Name, o.Finalizers)
		}
	}
	for _, o := range services.Items {
		if owner := ownerOf(&o); owner != "" && !living[owner] {
			return fmt.Errorf("service %s is left", o.Name)
		}
	}
	return nil
}

// ownerOf returns the UID of an object's controller, "" if it has none.
func ownerOf(o metav1.Object) types.UID {
	return ptr.Deref(metav1.GetControllerOf(o), metav1.OwnerReference{}).UID
}

// wrong returns what is wrong with a JobSet that has these jobs.
func wrong(s *api.JobSet, jobs []batchv1.Job, services []corev1.Service, finish bool) error {
	suspended := ptr.Deref(s.Spec.Suspend, false)
	switch {
	case s.DeletionTimestamp != nil:
		return fmt.Errorf("it is being deleted, with finalizers %q", s.Finalizers)
	case ptr.Deref(s.Spec.ManagedBy, "") == elsewhere:
		if len(jobs) > 0 || len(s.Status.Conditions) > 0 {
			return fmt.Errorf("it is managed elsewhere, and has %d jobs", len(jobs))
		}
		return nil
	case outcome(s) != "" && s.Spec.TTLSecondsAfterFinished != nil:
		return fmt.Errorf("its TTL of %d s has passed", *s.Spec.TTLSecondsAfterFinished)
	case outcome(s) == "" && (finish || !suspended):
		return fmt.Errorf("it has not finished")
	}
	status := map[string]api.ReplicatedJobStatus{}
	for _, r := range s.Spec.ReplicatedJobs {
		status[r.Name] = api.ReplicatedJobStatus{Name: r.Name}
	}
	for _, o := range jobs {
		r := status[o.Labels[api.ReplicatedJobNameKey]]
		_, finished := controllers.JobFinished(&o)
		switch {
		case finished == "" && (outcome(s) != "" || !suspended || !*o.Spec.Suspend):
			return fmt.Errorf("its job %s of attempt %d goes on, suspended: %v", o.Name, attempt(&o), *o.Spec.Suspend)
		case attempt(&o) != s.Status.Restarts:
			if outcome(s) == "" {
				return fmt.Errorf("it has job %s of attempt %d", o.Name, attempt(&o))
			}
			continue
		case finished == batchv1.JobComplete:
			r.Succeeded++
		case finished == batchv1.JobFailed:
			r.Failed++
		default:
			r.Suspended++
			if pods := min(*o.Spec.Parallelism, ptr.Deref(o.Spec.Completions, *o.Spec.Parallelism)); o.Status.Succeeded >= pods {
				r.Ready++
			}
		}
		status[r.Name] = r
	}
	for _, r := range s.Status.ReplicatedJobsStatus {
		if !reflect.DeepEqual(status[r.Name], r) {
			return fmt.Errorf("its status should be %+v", status[r.Name])
		}
	}
	for _, c := range s.Status.Conditions {
		if outcome(s) == "" && c.Type == string(api.JobSetSuspended) && c.Status != metav1.ConditionTrue || c.Type == string(api.JobSetRestarting) && c.Status == metav1.ConditionTrue {
			return fmt.Errorf("its condition %s is %s", c.Type, c.Status)
		}
	}
	if outcome(s) != "" || !*s.Spec.Network.EnableDNSHostnames {
		return nil
	}
	for _, o := range services {
		if ownerOf(&o) == s.UID && o.Name == controllers.GetSubdomain(s) && o.Spec.ClusterIP == corev1.ClusterIPNone && o.Spec.Selector[api.JobSetNameKey] == s.Name && o.Spec.PublishNotReadyAddresses == *s.Spec.Network.PublishNotReadyAddresses {
			return nil
		}
	}
	return fmt.Errorf("it has no headless service")
}

// resume resumes all JobSets.
func resume(ctx context.Context, c client.Client) error {
	var sets api.JobSetList
	if err := c.List(ctx, &sets, client.InNamespace(namespace)); err != nil {
		return err
	}
	for _, s := range sets.Items {
		s.Spec.Suspend = new(false)
		if err := c.Update(ctx, &s); err != nil {
			return err
		}
	}
	return nil
}
