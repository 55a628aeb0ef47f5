package simtest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// informed is a program with an informer.
type informed struct {
	of                askedOf
	namespace, labels string
	begin             func(config *rest.Config, one *informed) (cache.SharedIndexInformer, error)
	changes           time.Time // until then, some programs stop their informer now and then, and run another one

	mu    sync.Mutex
	store func() cache.Store
	now   cache.Store // of its current life
}

// informer draws an informer.
func (u *usage) informer() *informed {
	one := &informed{of: u.of(), namespace: metav1.NamespaceAll, labels: oneOf("", "", "colour=red")}
	if !one.of.global {
		one.namespace = oneOf(metav1.NamespaceAll, namespaces[0])
	}
	one.store = func() cache.Store { one.mu.Lock(); defer one.mu.Unlock(); return one.now }
	kinds := slices.Sorted(maps.Keys(informerKinds))
	if one.of.custom {
		kinds = slices.DeleteFunc(kinds, func(kind string) bool { return strings.HasPrefix(kind, "typed") })
	}
	one.begin = informerKinds[oneOf(kinds...)]
	one.changes = oneOf(time.Time{}, u.until)
	return one
}

// informerKinds are client-go's kinds of informers.
var informerKinds = map[string]func(*rest.Config, *informed) (cache.SharedIndexInformer, error){
	"dynamic": func(config *rest.Config, one *informed) (cache.SharedIndexInformer, error) {
		client, err := dynamic.NewForConfig(config)
		return dynamicinformer.NewFilteredDynamicInformer(client, one.of.GroupVersionResource, one.namespace, 0, nil, one.tweak).Informer(), err
	},
	"metadata": func(config *rest.Config, one *informed) (cache.SharedIndexInformer, error) {
		client, err := metadata.NewForConfig(config)
		return metadatainformer.NewFilteredMetadataInformer(client, one.of.GroupVersionResource, one.namespace, 0, nil, one.tweak).Informer(), err
	},
	"typed, JSON": typedInformer("application/json"), "typed, protobuf": typedInformer("application/vnd.kubernetes.protobuf,application/json"),
}

func typedInformer(accept string) func(*rest.Config, *informed) (cache.SharedIndexInformer, error) {
	return func(config *rest.Config, one *informed) (cache.SharedIndexInformer, error) {
		config = rest.CopyConfig(config)
		config.AcceptContentTypes = accept
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(one.namespace), informers.WithTweakListOptions(one.tweak))
		generic, err := factory.ForResource(one.of.GroupVersionResource)
		if err != nil {
			return nil, err
		}
		return generic.Informer(), nil
	}
}

func (i *informed) tweak(options *metav1.ListOptions) { options.LabelSelector = i.labels }

// run runs one informer after the other, and the last until the program ends.
func (i *informed) run(ctx context.Context, config *rest.Config) error {
	for ctx.Err() == nil {
		informer, err := i.begin(config, i)
		if err != nil {
			return err
		}
		i.mu.Lock()
		i.now = informer.GetStore()
		i.mu.Unlock()
		life, stop := ctx, context.CancelFunc(func() {})
		if left := time.Until(i.changes); left > 0 {
			life, stop = context.WithTimeout(ctx, min(left, rand.N(maxBrief)))
		}
		informer.RunWithContext(life)
		stop()
	}
	return nil
}

// maxBrief is the longest life of an informer that is followed by another one.
const maxBrief = 10 * time.Second

// has returns an error unless the informer has exactly the objects of a list.
func (i *informed) has(list *metav1.PartialObjectMetadataList) error {
	store := i.store()
	if store == nil {
		return errors.New("an informer has not started")
	}
	want := map[string]string{}
	for _, object := range list.Items {
		want[object.Namespace+"/"+object.Name] = object.ResourceVersion
	}
	have := store.List()
	for _, object := range have {
		of, err := meta.Accessor(object)
		if err != nil {
			return err
		}
		key := of.GetNamespace() + "/" + of.GetName()
		if version := want[key]; version != of.GetResourceVersion() {
			return fmt.Errorf("expected an informer of %s to have %s at resourceVersion %q, found %s", i.of.Resource, key, version, of.GetResourceVersion())
		}
	}
	if len(have) != len(want) {
		return fmt.Errorf("expected an informer of %s to have %d objects, found %d", i.of.Resource, len(want), len(have))
	}
	return nil
}
