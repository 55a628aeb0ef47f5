// Finding 19: an update that removes the last finalizer of an object can delete a newer
// version of it, or a new object of the same name.
package main

import (
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/configmap/storage"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

const (
	rounds   = 300
	patchers = 4
	name     = "name"
)

var ctx = store.Request("ns", "configmaps")

func main() {
	maps := rig.Value(storage.NewREST(store.Options{Etcd: rig.StartEtcd()}))
	newer := rig.Count(rounds, func(int) bool { return deletesNewer(maps) })
	fmt.Printf("an update with a resourceVersion deleted a newer version in %d of %d rounds\n", newer, rounds)
	other := rig.Count(rounds, func(int) bool { return deletesOther(maps) })
	rig.Verdict(other, rounds, "a new object, which nobody had deleted and which had a finalizer, was gone")
}

// deletesNewer reports whether an update deletes an object although the object has changed
// since the update's resourceVersion.
func deletesNewer(maps *storage.REST) bool {
	dying := leave(maps)
	var updated error
	var changed string
	var both sync.WaitGroup
	both.Go(func() {
		last := dying.DeepCopy()
		last.Finalizers = nil
		_, _, updated = maps.Update(ctx, name, rest.DefaultUpdatedObjectInfo(last), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	})
	both.Go(func() {
		if o, err := store.Change(ctx, maps, name, func(m *core.ConfigMap) { m.Data = map[string]string{"changed": "yes"} }); err == nil && len(o.Finalizers) > 0 {
			changed = o.ResourceVersion
		}
	})
	both.Wait()
	if updated != nil {
		rig.Value(store.Change(ctx, maps, name, func(m *core.ConfigMap) { m.Finalizers = nil }))
	}
	return updated == nil && changed != ""
}

// deletesOther reports whether an object is deleted that is created during the deletion of its predecessor.
func deletesOther(maps *storage.REST) bool {
	leave(maps)
	var all sync.WaitGroup
	for range patchers { // the first, and retries by clients that have had no response
		all.Go(func() {
			_, err := store.Change(ctx, maps, name, func(m *core.ConfigMap) {
				if m.DeletionTimestamp != nil {
					m.Finalizers = nil
				}
			})
			rig.Found(err)
		})
	}
	create(maps)
	all.Wait()
	if store.Gone(ctx, maps, name) {
		return true
	}
	store.Delete(ctx, maps, name, &metav1.DeleteOptions{})
	rig.Value(store.Change(ctx, maps, name, func(m *core.ConfigMap) { m.Finalizers = nil }))
	return false
}

// leave creates an object and deletes it, so that it waits for its finalizer to be removed.
func leave(maps *storage.REST) *core.ConfigMap {
	create(maps)
	store.Delete(ctx, maps, name, &metav1.DeleteOptions{})
	return rig.Value(maps.Get(ctx, name, &metav1.GetOptions{})).(*core.ConfigMap)
}

// create creates an object with a finalizer as soon as there is none of its name.
func create(maps *storage.REST) {
	for {
		_, err := maps.Create(ctx, &core.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Finalizers: []string{"example.com/last"}}},
			rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
		if err == nil {
			return
		}
		if !apierrors.IsAlreadyExists(err) {
			rig.Must(err)
		}
		time.Sleep(100 * time.Microsecond)
	}
}
