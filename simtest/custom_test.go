package simtest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/watchsim/watchsim/simtest"
)

var gadgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}

func gadget(name string, size int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Gadget",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"size": size},
	}}
}

// TestCustomResources has a controller with an informer and a queue that writes the observed size
// of each object to its status.
func TestCustomResources(t *testing.T) {
	config := simtest.Config{Members: 3, Servers: 2, Cache: simtest.Watchsim, CRDs: []string{"testdata/crds"}}
	simtest.Seeds(t, config, func(t *simtest.T, c *simtest.Cluster) {
		client, err := dynamic.NewForConfig(c.Config())
		require.NoError(t, err)
		objects := client.Resource(gadgets).Namespace("default")
		_, err = objects.Create(t.Context(), gadget("negative", -1), metav1.CreateOptions{})
		require.True(t, apierrors.IsInvalid(err), "%v", err)

		c.Go("controller", followSizes)
		c.Faults(20 * time.Second)
		const number = 5
		for i := range int64(number) {
			for size := range int64(3) {
				set(t, objects, fmt.Sprintf("g%d", i), size)
			}
		}
		c.Eventually(func() error {
			list, err := objects.List(t.Context(), metav1.ListOptions{})
			if err != nil {
				return err
			}
			require.Len(t, list.Items, number)
			for _, item := range list.Items {
				if seen, _, _ := unstructured.NestedInt64(item.Object, "status", "seen"); seen != 2 {
					return fmt.Errorf("expected 2 in the status of %s, found %d", item.GetName(), seen)
				}
			}
			return nil
		})
	})
}

// set creates or updates a gadget, with retries.
func set(t *simtest.T, objects dynamic.ResourceInterface, name string, size int64) {
	for {
		have, err := objects.Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = objects.Create(t.Context(), gadget(name, size), metav1.CreateOptions{})
		} else if err == nil {
			require.NoError(t, unstructured.SetNestedField(have.Object, size, "spec", "size"))
			_, err = objects.Update(t.Context(), have, metav1.UpdateOptions{})
		}
		if err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func followSizes(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	defer queue.ShutDown()
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	informer := factory.ForResource(gadgets).Informer()
	add := func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			queue.Add(key)
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, object any) { add(object) }, DeleteFunc: add}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	go func() {
		<-ctx.Done()
		queue.ShutDown()
	}()
	for {
		key, over := queue.Get()
		if over {
			return nil
		}
		if err := followSize(ctx, client, informer.GetStore(), key); err != nil {
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
		}
		queue.Done(key)
	}
}

func followSize(ctx context.Context, client dynamic.Interface, store cache.Store, key string) error {
	object, exists, err := store.GetByKey(key)
	if err != nil || !exists {
		return err
	}
	seen := object.(*unstructured.Unstructured).DeepCopy()
	size, _, _ := unstructured.NestedInt64(seen.Object, "spec", "size")
	if err := unstructured.SetNestedField(seen.Object, size, "status", "seen"); err != nil {
		return err
	}
	_, err = client.Resource(gadgets).Namespace(seen.GetNamespace()).UpdateStatus(ctx, seen, metav1.UpdateOptions{})
	return err
}
