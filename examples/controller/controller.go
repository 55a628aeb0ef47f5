package main

import (
	"context"
	"errors"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// The ConfigMap that is copied, and where it is.
const (
	source  = "default"
	copied  = "settings"
	workers = 2
)

// Options are those of the controller.
type Options struct {
	// Forget makes the controller not retry a namespace after a failed write.
	Forget bool
}

// Run runs a replica of the controller until its context is done or another one leads.
func Run(ctx context.Context, config *rest.Config, options Options) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	c := &controller{
		client: client, options: options,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	if err := c.watch(ctx); err != nil {
		return err
	}
	if err := lead(ctx, client, c.work); err != nil {
		return err
	}
	if ctx.Err() == nil {
		return errors.New("another replica leads")
	}
	return nil
}

// controller has one queue item for each namespace that may lack the newest copy.
type controller struct {
	client     kubernetes.Interface
	options    Options
	queue      workqueue.TypedRateLimitingInterface[string]
	namespaces listers.NamespaceLister
	configMaps listers.ConfigMapLister
}

// watch starts the informers, and waits until they have synced.
func (c *controller) watch(ctx context.Context) error {
	onlyCopied := func(options *metav1.ListOptions) { options.FieldSelector = "metadata.name=" + copied }
	all := informers.NewSharedInformerFactory(c.client, 0)
	copies := informers.NewSharedInformerFactoryWithOptions(c.client, 0, informers.WithTweakListOptions(onlyCopied))
	c.namespaces, c.configMaps = all.Core().V1().Namespaces().Lister(), copies.Core().V1().ConfigMaps().Lister()
	if _, err := all.Core().V1().Namespaces().Informer().AddEventHandler(handler(c.queue.Add)); err != nil {
		return err
	}
	_, err := copies.Core().V1().ConfigMaps().Informer().AddEventHandler(handler(func(key string) {
		if namespace, _, _ := cache.SplitMetaNamespaceKey(key); namespace != source {
			c.queue.Add(namespace)
			return
		}
		namespaces, _ := c.namespaces.List(labels.Everything())
		for _, namespace := range namespaces {
			c.queue.Add(namespace.Name)
		}
	}))
	if err != nil {
		return err
	}
	for _, factory := range []informers.SharedInformerFactory{all, copies} {
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
	}
	return ctx.Err()
}

// handler passes the key of every object that has changed.
func handler(add func(key string)) cache.ResourceEventHandler {
	changed := func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			add(key)
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }, DeleteFunc: changed}
}

// work copies while this replica leads.
func (c *controller) work(ctx context.Context) {
	for range workers {
		go func() {
			for {
				namespace, over := c.queue.Get()
				if over {
					return
				}
				// A hanging request must not block a worker forever.
				limited, cancel := context.WithTimeout(ctx, 10*time.Second)
				err := c.sync(limited, namespace)
				cancel()
				if err == nil || c.options.Forget {
					c.queue.Forget(namespace)
				} else {
					c.queue.AddRateLimited(namespace)
				}
				c.queue.Done(namespace)
			}
		}()
	}
	<-ctx.Done()
	c.queue.ShutDown()
}

// sync gives a namespace the newest copy known to the informers.
func (c *controller) sync(ctx context.Context, namespace string) error {
	if namespace == source {
		return nil
	}
	if _, err := c.namespaces.Get(namespace); apierrors.IsNotFound(err) {
		return nil
	}
	from, err := c.configMaps.ConfigMaps(source).Get(copied)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	target := c.client.CoreV1().ConfigMaps(namespace)
	to, err := c.configMaps.ConfigMaps(namespace).Get(copied)
	if apierrors.IsNotFound(err) {
		to = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: copied}, Data: from.Data}
		_, err = target.Create(ctx, to, metav1.CreateOptions{})
		return err
	}
	if err != nil || maps.Equal(to.Data, from.Data) {
		return err
	}
	to = to.DeepCopy() // never mutate an informer's objects
	to.Data = from.Data
	_, err = target.Update(ctx, to, metav1.UpdateOptions{})
	return err
}
