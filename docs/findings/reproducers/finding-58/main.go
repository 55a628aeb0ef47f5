// Finding 58: definitions of custom resources are deleted that have not been used yet, so that the API server cannot list their instances at first. If its informer
// lags behind, its retry conflicts with its own writes, and it does not go on.
package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

const (
	count    = 30 // definitions
	lag      = 50 * time.Millisecond
	idle     = 10 * time.Second
	patience = time.Minute
)

var ctx = context.Background()

// variant is a number of API servers, whether somebody lists the instances of each definition before it is deleted, and how late their informers receive changes.
type variant struct {
	servers int
	used    bool
	lag     time.Duration
}

func main() {
	etcd := rig.StartEtcd()
	rig.Variants("deleted definitions are left, and no API server goes on,", []variant{
		{1, true, lag}, {2, true, lag}, {1, false, 0}, {1, false, lag}, {2, false, lag},
	}, func(v variant) (string, bool, bool) {
		return v.String(), !v.used, v.run(etcd) > 0
	})
}

func (v variant) String() string {
	used := "never used"
	if v.used {
		used = "used"
	}
	return fmt.Sprintf("API servers: %d, watches late by %v, deleted definitions whose resources were %s", v.servers, v.lag, used)
}

// run deletes definitions, and returns how many are not removed.
func (v variant) run(etcd string) (left int) {
	clients := make([]*clientset.Clientset, v.servers)
	for i := range clients {
		config := store.Custom(store.Options{Etcd: etcd, Prefix: "/" + v.String()}, 1, func() { time.Sleep(v.lag) })
		clients[i] = clientset.NewForConfigOrDie(config)
	}
	definitions := clients[0].ApiextensionsV1().CustomResourceDefinitions()
	all(func(group string) {
		store.Define(clients[0], group)
		for _, client := range clients {
			if v.used {
				rig.Await(time.Millisecond, 10*time.Second, "instances cannot be listed", func() bool {
					return client.Discovery().RESTClient().Get().AbsPath("/apis", group, "v1", "things").Do(ctx).Error() == nil
				})
			}
		}
	})
	all(func(group string) { rig.Delete(definitions, "things."+group) })
	// settle waits until no definition is left, or nobody has written any for a while.
	settle := func() []apiextensionsv1.CustomResourceDefinition {
		var left []apiextensionsv1.CustomResourceDefinition
		versions, since := "", time.Now()
		rig.Wait(100*time.Millisecond, patience, func() bool {
			left = rig.List(definitions, "").Items
			now := ""
			for _, definition := range left {
				now += definition.ResourceVersion + " "
			}
			if now != versions {
				versions, since = now, time.Now()
			}
			return len(left) == 0 || time.Since(since) > idle
		})
		return left
	}
	stay := settle()
	what := fmt.Sprintf("%v: %d of %d are left", v, len(stay), count)
	if len(stay) > 0 {
		condition := apihelpers.FindCRDCondition(&stay[0], apiextensionsv1.Terminating)
		for _, definition := range stay {
			_, err := definitions.Patch(ctx, definition.Name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"changed":"yes"}}}`), metav1.PatchOptions{})
			rig.Found(err)
		}
		what += fmt.Sprintf(" after nobody has written them for %v (%s: %s), and %d after their annotations were changed", idle, condition.Reason, condition.Message, len(settle()))
	}
	fmt.Println(what)
	return len(stay)
}

// all does something for the groups of all definitions, ten at a time.
func all(do func(group string)) {
	var running sync.WaitGroup
	for worker := range 10 {
		running.Go(func() {
			for i := worker; i < count; i += 10 {
				do(fmt.Sprintf("group-%d.example.com", i))
			}
		})
	}
	running.Wait()
}
