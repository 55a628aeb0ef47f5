package leaderworkerset

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	"github.com/watchsim/watchsim/simtest"
)

const namespace = "default"

var names = []string{"a", "b", "c"}

// user creates sets of groups, changes, scales and deletes them, and deletes their pods.
type user struct {
	ctx      context.Context
	client   client.Client
	pace     time.Duration // between two actions, at most
	milliCPU int64         // that each pod requests
	version  int           // of the last image
	// exclusive says that each group has a node for itself.
	exclusive bool
	// did says which actions have ever succeeded.
	did map[string]bool
}

func newUser(t *simtest.T, c *simtest.Cluster) *user {
	all, err := client.New(c.Config(), client.Options{Scheme: Scheme()})
	require.NoError(t, err)
	return &user{ctx: t.Context(), client: all, pace: time.Millisecond + rand.N(8*time.Second), milliCPU: oneOf[int64](100, 1000), exclusive: rand.IntN(6) == 0, did: map[string]bool{}}
}

// oneOf draws one of some values.
func oneOf[T any](values ...T) T { return values[rand.IntN(len(values))] }

// act does something with one of the sets, which it creates if it does not exist.
func (u *user) act() {
	defer time.Sleep(rand.N(u.pace))
	set := &lwsv1.LeaderWorkerSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: oneOf(names...)}}
	switch err := u.client.Get(u.ctx, client.ObjectKeyFromObject(set), set); {
	case apierrors.IsNotFound(err):
		u.draw(set)
		u.do("creates a set", func() error { return u.client.Create(u.ctx, set) })
		return
	case err != nil:
		return
	}
	switch rand.IntN(10) {
	case 0, 1:
		u.change("upgrades a set", set, u.upgrade)
	case 2:
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas()}}
		u.do("scales a set", func() error {
			return u.client.SubResource("scale").Update(u.ctx, set, client.WithSubResourceBody(scale))
		})
	case 3:
		u.change("changes the replicas", set, func(set *lwsv1.LeaderWorkerSet) { set.Spec.Replicas = new(replicas()) })
	case 4:
		u.change("resizes the groups", set, func(set *lwsv1.LeaderWorkerSet) { set.Spec.LeaderWorkerTemplate.Size = new(1 + rand.Int32N(4)) })
	case 5:
		u.change("changes the strategy", set, func(set *lwsv1.LeaderWorkerSet) { set.Spec.RolloutStrategy = rollout() })
	case 6:
		u.change("changes the subdomains", set, func(set *lwsv1.LeaderWorkerSet) { set.Spec.NetworkConfig = network() })
	case 7:
		u.do("deletes a set", func() error {
			return u.client.Delete(u.ctx, set, client.PropagationPolicy(oneOf(metav1.DeletePropagationBackground, metav1.DeletePropagationForeground)))
		})
	default:
		u.deletePod(set)
	}
}

func replicas() int32 { return oneOf[int32](0, 1, 1, 2, 2, 3, 3, 4) }

// draw draws a set.
func (u *user) draw(set *lwsv1.LeaderWorkerSet) {
	if u.exclusive {
		set.Annotations = map[string]string{lwsv1.ExclusiveKeyAnnotationKey: corev1.LabelHostname}
	}
	size := 1 + rand.Int32N(4)
	set.Spec = lwsv1.LeaderWorkerSetSpec{
		Replicas: new(replicas()), StartupPolicy: oneOf(lwsv1.LeaderCreatedStartupPolicy, lwsv1.LeaderReadyStartupPolicy),
		RolloutStrategy: rollout(), NetworkConfig: network(),
		LeaderWorkerTemplate: lwsv1.LeaderWorkerTemplate{
			Size:          &size,
			RestartPolicy: oneOf("", lwsv1.RecreateGroupOnPodRestart, lwsv1.RecreateGroupAfterStart, lwsv1.NoneRestartPolicy),
		},
	}
	template := &set.Spec.LeaderWorkerTemplate
	template.WorkerTemplate.Spec = u.pod("worker")
	if rand.IntN(2) == 0 {
		template.LeaderTemplate = &corev1.PodTemplateSpec{Spec: u.pod("leader")}
	}
	if rand.IntN(4) == 0 {
		template.SubGroupPolicy = &lwsv1.SubGroupPolicy{SubGroupSize: oneOf(new(int32(1)), &size), Type: oneOf(nil, new(lwsv1.SubGroupPolicyTypeLeaderWorker))}
	}
	u.upgrade(set)
}

// pod returns a template for pods without an image.
func (u *user) pod(container string) corev1.PodSpec {
	spec := corev1.PodSpec{TerminationGracePeriodSeconds: new(int64(5)), Containers: []corev1.Container{{Name: container, Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(u.milliCPU, resource.DecimalSI)},
	}}}}
	if rand.IntN(4) == 0 {
		spec.InitContainers = []corev1.Container{{Name: "init", Image: "init", Env: []corev1.EnvVar{{Name: lwsv1.LwsGroupSize, Value: "wrong"}}}}
	}
	return spec
}

// upgrade gives all pods of a set a new image.
func (u *user) upgrade(set *lwsv1.LeaderWorkerSet) {
	if u.version == 0 || rand.IntN(4) > 0 { // or the last one, which a set may have had before
		u.version++
	}
	template := &set.Spec.LeaderWorkerTemplate
	image := fmt.Sprintf("image:%d", u.version)
	template.WorkerTemplate.Spec.Containers[0].Image = image
	if template.LeaderTemplate != nil {
		template.LeaderTemplate.Spec.Containers[0].Image = image
	}
}

// rollout draws a strategy.
func rollout() lwsv1.RolloutStrategy {
	strategy := lwsv1.RolloutStrategy{Type: lwsv1.RollingUpdateStrategyType}
	if rand.IntN(4) > 0 {
		strategy.RollingUpdateConfiguration = &lwsv1.RollingUpdateConfiguration{
			MaxUnavailable: oneOf(intstr.FromInt32(0), intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromString("50%")),
			MaxSurge:       oneOf(intstr.FromInt32(0), intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromString("50%")),
			Partition:      new(oneOf[int32](0, 0, 0, 1, 2)),
		}
	}
	return strategy
}

func network() *lwsv1.NetworkConfig {
	if rand.IntN(3) == 0 {
		return nil
	}
	return &lwsv1.NetworkConfig{SubdomainPolicy: new(oneOf(lwsv1.SubdomainShared, lwsv1.SubdomainUniquePerReplica))}
}

// change changes a set.
func (u *user) change(what string, set *lwsv1.LeaderWorkerSet, to func(*lwsv1.LeaderWorkerSet)) {
	to(set)
	u.do(what, func() error { return u.client.Update(u.ctx, set) })
}

// deletePod deletes one of the pods of a set.
func (u *user) deletePod(set *lwsv1.LeaderWorkerSet) {
	var pods corev1.PodList
	if err := u.client.List(u.ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{lwsv1.SetNameLabelKey: set.Name}); err == nil && len(pods.Items) > 0 {
		pod := oneOf(pods.Items...)
		u.do("deletes a pod", func() error { return u.client.Delete(u.ctx, &pod, client.Preconditions{UID: &pod.UID}) })
	}
}

// do retries a request until it succeeds, or cannot succeed.
func (u *user) do(what string, request func() error) {
	hopeless := []func(error) bool{apierrors.IsNotFound, apierrors.IsAlreadyExists, apierrors.IsConflict, apierrors.IsInvalid, apierrors.IsForbidden, apierrors.IsMethodNotSupported}
	for range 20 {
		err := request()
		u.did[what] = u.did[what] || err == nil
		if err == nil || slices.ContainsFunc(hopeless, func(is func(error) bool) bool { return is(err) }) {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// touch changes nothing of an object that matters.
func (u *user) touch(object client.Object) {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/touched":"%d"}}}`, time.Now().UnixNano())
	u.do("touches an object", func() error { return u.client.Patch(u.ctx, object, client.RawPatch(types.MergePatchType, patch)) })
}

// surge is the number of groups that a set may have beyond its replicas.
func surge(set *lwsv1.LeaderWorkerSet) int32 {
	n, _ := intstr.GetScaledValueFromIntOrPercent(&set.Spec.RolloutStrategy.RollingUpdateConfiguration.MaxSurge, int(*set.Spec.Replicas), true)
	return min(int32(n), *set.Spec.Replicas)
}

// unavailable is the number of groups that a rollout may make unavailable.
func unavailable(set *lwsv1.LeaderWorkerSet) int32 {
	n, _ := intstr.GetScaledValueFromIntOrPercent(&set.Spec.RolloutStrategy.RollingUpdateConfiguration.MaxUnavailable, int(*set.Spec.Replicas), false)
	return int32(n)
}

// fit deletes the last sets, as many as it takes for the pods of the others to fit on the nodes. It also ends the partition of half of the sets.
func (u *user) fit(nodes int) error {
	sets := &lwsv1.LeaderWorkerSetList{}
	if err := u.client.List(u.ctx, sets); err != nil {
		return err
	}
	room := int64(nodes) * min(4000/u.milliCPU, 30)
	if u.exclusive {
		room = int64(nodes)
	}
	var errs []error
	for i := range sets.Items {
		set := &sets.Items[i]
		if set.DeletionTimestamp != nil {
			continue
		}
		if groups := int64(*set.Spec.Replicas + surge(set)); u.exclusive {
			room -= groups
		} else {
			room -= groups * 4
		}
		partition := set.Spec.RolloutStrategy.RollingUpdateConfiguration.Partition
		switch {
		case room < 0:
			errs = append(errs, u.client.Delete(u.ctx, set))
		case unavailable(set)+surge(set) == 0 && *set.Spec.Replicas > 0:
			// Nobody can update such a set: percentages that are rounded down to 0, and a scale-down, which webhooks do not see.
			set.Spec.RolloutStrategy.RollingUpdateConfiguration.MaxUnavailable = intstr.FromInt32(1)
			errs = append(errs, u.client.Update(u.ctx, set))
		case *partition > 0 && *partition < 10 && rand.IntN(2) == 0:
			*partition = 0
			errs = append(errs, u.client.Update(u.ctx, set))
		}
	}
	return errors.Join(errs...)
}
