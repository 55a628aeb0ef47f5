package controlplane

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Dependents returns a program for simtest that uses owner references as operators and users do, until a
// deadline: it creates config maps and secrets with one or several owners, some of them with
// wrong references, and creates and deletes some of the owners.
func Dependents(usage Usage, until time.Time) func(ctx context.Context, config *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		u, err := newPerson(config, usage)
		if err != nil {
			return err
		}
		for ctx.Err() == nil && time.Now().Before(until) {
			bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
			_ = u.depend(bounded, usage.name()) // failures are expected
			cancel()
			time.Sleep(upTo(usage.Pause))
		}
		<-ctx.Done()
		return nil
	}
}

// depend performs one action, drawn at random.
func (u *person) depend(ctx context.Context, name string) (err error) {
	space, core := spaces[rand.IntN(len(spaces))], u.client.CoreV1()
	owner, owned := "base-"+name, "owned-"+name
	switch rand.IntN(8) {
	case 0:
		_, err = core.ConfigMaps(space).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: owner}}, metav1.CreateOptions{})
	case 1:
		policies := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}
		err = core.ConfigMaps(space).Delete(ctx, owner, metav1.DeleteOptions{PropagationPolicy: &policies[rand.IntN(len(policies))]})
	case 2:
		err = core.ConfigMaps(space).Delete(ctx, owned, metav1.DeleteOptions{})
	default:
		references, err := u.drawOwners(ctx, space, owned)
		if err != nil || len(references) == 0 {
			return err
		}
		meta := metav1.ObjectMeta{Name: owned, OwnerReferences: references}
		if rand.IntN(2) == 0 {
			return ensure(ctx, core.Secrets(space), owned, &corev1.Secret{ObjectMeta: meta}, func(s *corev1.Secret) { s.OwnerReferences = unchanged(s.OwnerReferences, references) })
		}
		return ensure(ctx, core.ConfigMaps(space), owned, &corev1.ConfigMap{ObjectMeta: meta}, func(c *corev1.ConfigMap) { c.OwnerReferences = unchanged(c.OwnerReferences, references) })
	}
	return err
}

// drawOwners returns owner references to one or two objects. Some are wrong: they refer to an object of another
// namespace, or have a wrong name or kind. The names of owners sort before that of the dependent,
// as the garbage collector may never finish a cycle of foreground deletions.
func (u *person) drawOwners(ctx context.Context, space, dependent string) (references []metav1.OwnerReference, err error) {
	seen := map[types.UID]bool{}
	for range 1 + rand.IntN(2) {
		from, wrong := space, rand.IntN(12)
		if wrong < 2 {
			from = spaces[rand.IntN(len(spaces))]
		}
		found, err := u.candidates(ctx, from)
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(o metav1.Object) bool { return o.GetName() >= dependent })
		if len(found) == 0 {
			continue
		}
		owner := found[rand.IntN(len(found))]
		kinds, _, err := scheme.Scheme.ObjectKinds(owner.(object))
		if err != nil || seen[owner.GetUID()] {
			continue
		}
		seen[owner.GetUID()] = true
		reference := metav1.OwnerReference{Name: owner.GetName(), UID: owner.GetUID()}
		reference.APIVersion, reference.Kind = kinds[0].ToAPIVersionAndKind()
		if rand.IntN(2) == 0 {
			reference.BlockOwnerDeletion = new(true)
		}
		switch wrong {
		case 2:
			reference.Name += "-x"
		case 3:
			reference.APIVersion, reference.Kind = "v1", "Secret"
		}
		references = append(references, reference)
	}
	return references, nil
}

// unchanged returns references in which existing ones keep their name and kind, as the
// garbage collector ignores such changes: docs/findings/finding-9.md.
func unchanged(before, references []metav1.OwnerReference) []metav1.OwnerReference {
	for i, r := range references {
		if at := slices.IndexFunc(before, func(old metav1.OwnerReference) bool { return old.UID == r.UID }); at >= 0 {
			references[i].APIVersion, references[i].Kind, references[i].Name = before[at].APIVersion, before[at].Kind, before[at].Name
		}
	}
	return references
}

// candidates returns all objects of one kind of owners.
func (u *person) candidates(ctx context.Context, space string) (found []metav1.Object, err error) {
	all := metav1.ListOptions{ResourceVersion: "0"} // users may act on stale data
	var list runtime.Object
	switch rand.IntN(7) {
	case 0:
		list, err = u.client.AppsV1().Deployments(space).List(ctx, all)
	case 1:
		list, err = u.client.BatchV1().Jobs(space).List(ctx, all)
	case 2:
		list, err = u.client.CoreV1().Nodes().List(ctx, all)
	case 3:
		list, err = u.untyped.Resource(custom(u.usage.name())).Namespace(space).List(ctx, all)
	default: // config maps, which may have owners themselves
		list, err = u.client.CoreV1().ConfigMaps(space).List(ctx, all)
	}
	if err != nil {
		return nil, err
	}
	err = meta.EachListItem(list, func(one runtime.Object) error {
		found = append(found, one.(metav1.Object))
		return nil
	})
	return found, err
}
