package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	upstream "k8s.io/apiserver/pkg/storage/cacher"

	"github.com/watchsim/watchsim/cacher"
)

// cached serves all clients from one watch cache over the etcd3 store.
type cached struct {
	cache                 storage.Interface
	stopCache, closeStore func()
}

// startCache starts a cache over a store, and returns it with what stops it. The
// cache may not be ready yet.
type startCache func(storage.Interface) (storage.Interface, waiter, error)

// waiter is what both caches have beyond storage.Interface.
type waiter interface {
	Wait(context.Context) error
	Stop()
}

// newCached starts a cache over a connection of its own, and waits until it can be
// read.
func newCached(ctx context.Context, address string, start startCache) (*cached, error) {
	store, closeStore, err := openStore(address)
	if err != nil {
		return nil, err
	}
	cache, running, err := start(store)
	if err != nil {
		closeStore()
		return nil, err
	}
	c := &cached{cache: cache, stopCache: running.Stop, closeStore: closeStore}
	ctx, cancel := context.WithTimeoutCause(ctx, etcdPatience, errors.New("expected the cache to be ready by now, found it is not"))
	defer cancel()
	if err := running.Wait(ctx); err != nil {
		c.stop()
		return nil, errors.Join(err, context.Cause(ctx))
	}
	return c, nil
}

// startCacher starts the cache of this project, with its defaults.
func startCacher(store storage.Interface) (storage.Interface, waiter, error) {
	c, err := cacher.New(cacher.Config{
		Storage: store, Versioner: versioner, GroupResource: podResource, ResourcePrefix: podPrefix,
		KeyFunc: keyOfPod, GetAttrsFunc: attributesOfPod, NewFunc: newPod, NewListFunc: newPodList, Codec: podCodec,
	})
	return c, c, err
}

// startKubernetes starts Kubernetes' own cache, wired as kube-apiserver wires it.
func startKubernetes(store storage.Interface) (storage.Interface, waiter, error) {
	c, err := upstream.NewCacherFromConfig(upstream.Config{
		Storage: store, Versioner: versioner, GroupResource: podResource, ResourcePrefix: podPrefix,
		EventsHistoryWindow: upstream.DefaultEventFreshDuration,
		KeyFunc:             keyOfPod, GetAttrsFunc: attributesOfPod, NewFunc: newPod, NewListFunc: newPodList, Codec: podCodec,
	})
	if err != nil {
		return nil, nil, err
	}
	d := upstream.NewCacheDelegator(c, store)
	return d, delegated{c, d}, nil
}

// delegated is Kubernetes' cache and what decides for it when to ask the store.
// Both have goroutines.
type delegated struct {
	*upstream.Cacher
	delegator *upstream.CacheDelegator
}

func (d delegated) Stop() {
	d.delegator.Stop()
	d.Cacher.Stop()
}

// connections is one: what the cache reads with.
func (c *cached) connections() int { return 1 }

func (c *cached) stop() {
	c.stopCache()
	c.closeStore()
}

// watch asks the cache for any state that it has and all changes from there on, as
// an API server does for a client that names resourceVersion 0.
func (c *cached) watch(ctx context.Context, client int) (receive, error) {
	w, err := c.cache.Watch(ctx, podPrefix, storage.ListOptions{ResourceVersion: "0", Predicate: storage.Everything, Recursive: true})
	if err != nil {
		return nil, fmt.Errorf("opening watch %d: %w", client, err)
	}
	revisions := make([]int64, 1)
	return func() []int64 {
		event, open := <-w.ResultChan()
		if !open || event.Type == watch.Error {
			return nil
		}
		revision, err := revisionOf(event.Object)
		if err != nil {
			return nil
		}
		revisions[0] = revision
		return revisions
	}, nil
}
