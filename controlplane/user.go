package controlplane

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
)

// User returns a program for simtest that acts as users do until a deadline, in two namespaces: it
// creates, scales, changes, deletes and recreates objects that controllers reconcile.
func (p *Plane) User(usage Usage, until time.Time) func(ctx context.Context, config *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		u, err := newPerson(config, usage)
		if err != nil {
			return err
		}
		groups := slices.DeleteFunc(slices.Clone(usage.Groups), func(group Group) bool { return len(userActions[group]) == 0 })
		for range usage.People {
			go func() {
				for len(groups) > 0 && ctx.Err() == nil && time.Now().Before(until) {
					actions := userActions[groups[rand.IntN(len(groups))]]
					space, name := spaces[rand.IntN(len(spaces))], usage.name()
					for range 1 + rand.IntN(usage.Burst) {
						bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
						act := actions[rand.IntN(len(actions))]
						if act(u, bounded, space, name) == nil {
							p.note(act)
						} // failed actions are not retried: users try something else
						cancel()
					}
					time.Sleep(upTo(usage.Pause))
				}
			}()
		}
		for _, group := range groups {
			if _, is := reactedTo[group]; is && usage.ReactOneIn > 0 {
				for _, space := range spaces {
					go u.react(ctx, group, space, until, func() { p.note((*person).actOn) })
				}
			}
		}
		if slices.Contains(usage.Groups, Finalizers) && !usage.Stay {
			time.AfterFunc(time.Until(until), func() { u.removeAllFinalizers(ctx) })
		}
		<-ctx.Done()
		return nil
	}
}

// person is a user in one life of the program.
type person struct {
	client  kubernetes.Interface
	untyped dynamic.Interface
	usage   Usage
}

func newPerson(config *rest.Config, usage Usage) (*person, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	untyped, err := dynamic.NewForConfig(config)
	return &person{client: client, untyped: untyped, usage: usage}, err
}

// action is an action of users in a namespace, on objects of some name.
type action func(u *person, ctx context.Context, space, name string) error

// userActions are those of each group.
var userActions = map[Group][]action{
	Deployments:  {(*person).applyDeployment, (*person).applyDeployment, (*person).deleteDeployment},
	ReplicaSets:  {(*person).applyReplicaSet, (*person).applyReplicaSet, (*person).deleteReplicaSet},
	StatefulSets: {(*person).applyStatefulSet, (*person).applyStatefulSet, (*person).deleteStatefulSet},
	DaemonSets:   {(*person).applyDaemonSet, (*person).applyDaemonSet, (*person).deleteDaemonSet},
	Jobs:         {(*person).createJob, (*person).createJob, (*person).deleteJob, (*person).changeJob},
	CronJobs:     {(*person).applyCronJob, (*person).applyCronJob, (*person).deleteCronJob},
	Services:     {(*person).createService, (*person).createService, (*person).changeService, (*person).deleteService},
	Pods:         {(*person).createPod, (*person).deletePod},
	Controlled:   {(*person).deleteControlled, (*person).relabel},
	Finalizers:   {(*person).addFinalizer, (*person).addFinalizers, (*person).removeFinalizers},
	Quotas:       {(*person).applyQuota, (*person).deleteQuota},
	Budgets:      {(*person).createBudget, (*person).deleteBudget, (*person).evict, (*person).evict},
	Volumes:      {(*person).createClaim, (*person).createClaim, (*person).createPod, (*person).deleteClaim, (*person).deleteVolume},
	Definitions:  {(*person).createDefinition, (*person).createCustom, (*person).createCustom, (*person).deleteCustom, (*person).deleteDefinition},
	Namespaces:   {(*person).createNamespace, (*person).createNamespace, (*person).deleteNamespace},
}

// spaces are the namespaces in which users work.
var spaces = []string{"red", "blue"}

// deletion draws how something is deleted.
func deletion() metav1.DeleteOptions {
	return metav1.DeleteOptions{PropagationPolicy: []*metav1.DeletionPropagation{
		nil, new(metav1.DeletePropagationForeground), new(metav1.DeletePropagationBackground), new(metav1.DeletePropagationOrphan),
	}[rand.IntN(4)]}
}

// objects is a typed client.
type objects[T any] interface {
	Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error)
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
	Update(ctx context.Context, object T, options metav1.UpdateOptions) (T, error)
}

// ensure creates an object, or changes the existing one.
func ensure[T any](ctx context.Context, client objects[T], name string, object T, change func(T)) error {
	_, err := client.Create(ctx, object, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	return update(ctx, client, name, change)
}

// update changes an existing object.
func update[T any](ctx context.Context, client objects[T], name string, change func(T)) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		found, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(found)
		_, err = client.Update(ctx, found, metav1.UpdateOptions{})
		return err
	})
}
