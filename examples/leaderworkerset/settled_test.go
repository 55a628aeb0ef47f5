package leaderworkerset

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"sigs.k8s.io/controller-runtime/pkg/client"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"
)

// objects are all sets, and what controllers have made of them.
type objects struct {
	sets      lwsv1.LeaderWorkerSetList
	stateful  appsv1.StatefulSetList
	pods      corev1.PodList
	services  corev1.ServiceList
	revisions appsv1.ControllerRevisionList
}

func read(ctx context.Context, reader client.Reader) (*objects, error) {
	o := &objects{}
	for _, list := range []client.ObjectList{&o.sets, &o.stateful, &o.pods, &o.services, &o.revisions} {
		if err := reader.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// find returns the object of a name, nil for none.
func find[T any, P interface {
	*T
	metav1.Object
}](items []T, name string) P {
	for i := range items {
		if P(&items[i]).GetName() == name {
			return &items[i]
		}
	}
	return nil
}

func owner(o metav1.Object) types.UID {
	if controller := metav1.GetControllerOf(o); controller != nil {
		return controller.UID
	}
	return ""
}

// settled returns an error until each set has the groups that its user wants, and says so, and nothing is left of others.
func (o *objects) settled() error {
	pods := 0
	services := map[string]bool{}
	for i := range o.sets.Items {
		set := &o.sets.Items[i]
		g, err := o.groups(set, services)
		if err == nil {
			if err = says(set, g); err != nil {
				err = forgotten{err, set}
			}
		}
		if err != nil {
			return fmt.Errorf("set %s of generation %d: %w", set.Name, set.Generation, err)
		}
		pods += g.pods
		for _, r := range o.revisions.Items {
			if owner(&r) == set.UID && *set.Spec.RolloutStrategy.RollingUpdateConfiguration.Partition == 0 && r.Labels[lwsv1.RevisionKey] != find(o.stateful.Items, set.Name).Labels[lwsv1.RevisionKey] {
				return fmt.Errorf("set %s is up to date and has the revision %s of another template", set.Name, r.Name)
			}
		}
	}
	if err := o.nothingLeft(); err != nil {
		return err
	}
	if len(o.pods.Items) != pods {
		return fmt.Errorf("expected %d pods, found %d", pods, len(o.pods.Items))
	}
	for name := range services {
		if find(o.services.Items, name) == nil {
			err := fmt.Errorf("service %s, which is the subdomain of pods, does not exist", name)
			if leader := find(o.pods.Items, name); leader != nil {
				err = forgotten{err, leader}
			}
			return err
		}
	}
	return nil
}

// forgotten says what the controllers do not correct before an event makes them look at an object again.
type forgotten struct {
	error
	object client.Object
}

// nothingLeft returns an error if an object is left of a set or a leader that is gone.
func (o *objects) nothingLeft() error {
	living := map[types.UID]bool{}
	for _, set := range o.sets.Items {
		living[set.UID] = true
	}
	for _, pod := range o.pods.Items {
		living[pod.UID] = true
	}
	for _, of := range [][]metav1.Object{pointers(o.stateful.Items), pointers(o.services.Items), pointers(o.revisions.Items)} {
		for _, one := range of {
			if one.GetLabels()[lwsv1.SetNameLabelKey] != "" && !living[owner(one)] && !slices.ContainsFunc(o.stateful.Items, func(s appsv1.StatefulSet) bool { return s.UID == owner(one) }) {
				return fmt.Errorf("%T %s is left of a set or leader that is gone", one, one.GetName())
			}
		}
	}
	return nil
}

func pointers[T any, P interface {
	*T
	metav1.Object
}](items []T) (all []metav1.Object) {
	for i := range items {
		all = append(all, P(&items[i]))
	}
	return all
}

// groups counts the groups of a set, those that are updated, and their pods.
type groups struct{ all, updated, pods int }

// groups returns the groups of a set once all are as wanted, and adds the services of their pods to those given.
func (o *objects) groups(set *lwsv1.LeaderWorkerSet, services map[string]bool) (found groups, err error) {
	leaders := find(o.stateful.Items, set.Name)
	if leaders == nil || owner(leaders) != set.UID || leaders.DeletionTimestamp != nil {
		return found, fmt.Errorf("it has no stateful set for leaders")
	}
	template := &set.Spec.LeaderWorkerTemplate
	partition := *set.Spec.RolloutStrategy.RollingUpdateConfiguration.Partition
	want, most := *set.Spec.Replicas, *set.Spec.Replicas
	if partition > 0 {
		most += surge(set) // they remain until the partition is 0
	}
	count := *leaders.Spec.Replicas
	if count < want || count > most {
		return found, fmt.Errorf("it has %d leaders, and its user wants %d", count, want)
	}
	for i := range int(count) {
		leader := find(o.pods.Items, fmt.Sprintf("%s-%d", set.Name, i))
		if leader == nil || owner(leader) != leaders.UID {
			return found, fmt.Errorf("group %d has no leader", i)
		}
		updated := leader.Labels[lwsv1.RevisionKey] == leaders.Labels[lwsv1.RevisionKey]
		size, err := strconv.Atoi(leader.Annotations[lwsv1.SizeAnnotationKey])
		if err != nil {
			return found, err
		}
		if int32(i) >= partition {
			if image := template.WorkerTemplate.Spec.Containers[0].Image; !updated || size != int(*template.Size) || leader.Spec.Containers[0].Image != image {
				return found, fmt.Errorf("leader %s is of size %d and %s, and its user wants size %d and %s", leader.Name, size, leader.Spec.Containers[0].Image, *template.Size, image)
			}
		}
		workers := find(o.stateful.Items, leader.Name)
		if size > 1 && (workers == nil || owner(workers) != leader.UID) {
			return found, fmt.Errorf("leader %s has no stateful set for workers", leader.Name)
		}
		if int32(i) < partition && workers != nil && os.Getenv(mixed) == "" {
			size = int(*workers.Spec.Replicas) + 1
		}
		restarts := int32(0)
		for j := range size {
			pod := leader
			if j > 0 {
				if pod = find(o.pods.Items, fmt.Sprintf("%s-%d", leader.Name, j)); pod == nil || owner(pod) != workers.UID {
					return found, fmt.Errorf("group %d has no worker %d", i, j)
				}
			}
			if pod.DeletionTimestamp != nil || !podutil.IsPodReady(pod) {
				return found, fmt.Errorf("pod %s is not ready", pod.Name)
			}
			for _, c := range pod.Status.ContainerStatuses {
				restarts += c.RestartCount
			}
			services[pod.Spec.Subdomain] = true
		}
		if restarts > 0 && template.RestartPolicy == lwsv1.RecreateGroupOnPodRestart {
			return found, fmt.Errorf("group %d has containers that have restarted %d times, and was not recreated", i, restarts)
		}
		found.all++
		if updated {
			found.updated++
		}
		found.pods += size
	}
	return found, nil
}

// says returns an error unless the status of a set is that of its groups, all of which are ready.
func says(set *lwsv1.LeaderWorkerSet, g groups) error {
	is := set.Status
	if is.ObservedGeneration != set.Generation || int(is.Replicas) != g.all || int(is.ReadyReplicas) != g.all || int(is.UpdatedReplicas) != g.updated {
		return fmt.Errorf("it has %d groups, %d of them updated, and all are ready; its status is %+v", g.all, g.updated, is)
	}
	for kind, want := range map[lwsv1.LeaderWorkerSetConditionType]bool{
		lwsv1.LeaderWorkerSetAvailable: true, lwsv1.LeaderWorkerSetProgressing: false, lwsv1.LeaderWorkerSetUpdateInProgress: false,
	} {
		if meta.IsStatusConditionTrue(is.Conditions, string(kind)) != want {
			return fmt.Errorf("all of its groups are ready, and its conditions are %+v", is.Conditions)
		}
	}
	return nil
}
