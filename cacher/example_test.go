package cacher_test

import (
	"context"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"

	"github.com/watchsim/watchsim/cacher"
)

// memory replaces the etcd3 store in these examples: it holds its initial objects, and its watches
// deliver what is sent.
type memory struct {
	storage.Interface // what the examples do not call
	pods              []example.Pod
	changes           chan watch.Event
}

func newMemory(names ...string) *memory {
	m := &memory{changes: make(chan watch.Event, 10)}
	for i, name := range names {
		m.pods = append(m.pods, *newPod(name, i+1))
	}
	return m
}

func newPod(name string, rv int) *example.Pod {
	return &example.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: strconv.Itoa(rv)}}
}

func (m *memory) GetList(_ context.Context, _ string, _ storage.ListOptions, out runtime.Object) error {
	list := out.(*example.PodList)
	list.Items, list.ResourceVersion = m.pods, strconv.Itoa(len(m.pods))
	return nil
}

func (m *memory) Watch(_ context.Context, _ string, options storage.ListOptions) (watch.Interface, error) {
	if options.SendInitialEvents != nil {
		return nil, fmt.Errorf("streams no objects")
	}
	return watch.NewProxyWatcher(m.changes), nil
}

func (m *memory) CompactRevision() int64                              { return 0 }
func (m *memory) EnableResourceSizeEstimation(storage.KeysFunc) error { return nil }

// podConfig is what a cache needs to know of its resource.
func podConfig(below storage.Interface) cacher.Config {
	return cacher.Config{
		Storage:        below,
		Versioner:      storage.APIObjectVersioner{},
		GroupResource:  schema.GroupResource{Resource: "pods"},
		ResourcePrefix: "/pods/",
		KeyFunc: func(object runtime.Object) (string, error) {
			return storage.NamespaceKeyFunc("/pods/", object)
		},
		GetAttrsFunc: storage.DefaultNamespaceScopedAttr,
		NewFunc:      func() runtime.Object { return &example.Pod{} },
		NewListFunc:  func() runtime.Object { return &example.PodList{} },
	}
}

// ready starts a cache and waits until it can be read.
func ready(ctx context.Context, config cacher.Config) *cacher.Cacher {
	cache, err := cacher.New(config)
	if err == nil {
		err = cache.Wait(ctx)
	}
	if err != nil {
		panic(err)
	}
	return cache
}

// A cache lists its objects from memory, at any resourceVersion that it has reached.
func Example() {
	ctx := context.Background()
	cache := ready(ctx, podConfig(newMemory("a", "b")))
	defer cache.Stop()

	var pods example.PodList
	if err := cache.GetList(ctx, "/pods/", storage.ListOptions{Recursive: true, ResourceVersion: "0"}, &pods); err != nil {
		fmt.Println(err)
		return
	}
	for _, pod := range pods.Items {
		fmt.Println(pod.Name, "at", pod.ResourceVersion)
	}
	// Output:
	// a at 1
	// b at 2
}

// A watch begins with the existing objects, and continues with their changes.
func ExampleCacher_Watch() {
	ctx := context.Background()
	below := newMemory("a")
	cache := ready(ctx, podConfig(below))
	defer cache.Stop()

	initialEvents := true
	options := storage.ListOptions{
		Recursive: true, ResourceVersion: "0", SendInitialEvents: &initialEvents, Predicate: storage.Everything,
	}
	watching, err := cache.Watch(ctx, "/pods/default/", options)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer watching.Stop()
	below.changes <- watch.Event{Type: watch.Modified, Object: newPod("a", 2)}
	below.changes <- watch.Event{Type: watch.Deleted, Object: newPod("a", 3)}
	for range 3 {
		e := <-watching.ResultChan()
		pod := e.Object.(metav1.Object)
		fmt.Println(e.Type, pod.GetName(), "at", pod.GetResourceVersion())
	}
	// Output:
	// ADDED a at 1
	// MODIFIED a at 2
	// DELETED a at 3
}

// An invalid setting is rejected with what was expected and found.
func ExampleNew_misconfigured() {
	config := podConfig(newMemory())
	config.MinEvents, config.MaxEvents = 100, 50
	_, err := cacher.New(config)
	fmt.Println(err)
	// Output:
	// watch cache of pods: expected MinEvents of at least 1 and MaxEvents of at least that, found 100 and 50
}

// The memory usage of a cache can be read at any time; the metrics report the same.
func ExampleCacher_Usage() {
	cache := ready(context.Background(), podConfig(newMemory("a", "b", "c")))
	defer cache.Stop()
	used := cache.Usage()
	fmt.Println(used.Objects, "objects,", used.Events, "events,", used.Watchers, "watches")
	// Output:
	// 3 objects, 0 events, 0 watches
}
