package controlplane

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// observable are the resources for which an observer may have informers.
var observable = []schema.GroupVersionResource{
	corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithResource("nodes"),
	appsv1.SchemeGroupVersion.WithResource("replicasets"), appsv1.SchemeGroupVersion.WithResource("deployments"),
	batchv1.SchemeGroupVersion.WithResource("jobs"), discoveryv1.SchemeGroupVersion.WithResource("endpointslices"),
}

// Limits of an observer.
const (
	maxObserved  = 3                // informers at a time
	maxHandlers  = 4                // of an informer
	maxPace      = 2 * time.Second  // that a slow handler takes for a notification
	maxResync    = 10 * time.Second // between two resyncs; a second at least, which is client-go's minimum
	maxLife      = 15 * time.Second // of an informer that is stopped and restarted
	maxLateStart = 2 * time.Second  // of an informer
)

// Observer has informers with several handlers each, and checks their notifications. It outlives
// the program that runs them. The zero value has observed nothing.
type Observer struct {
	mu       sync.Mutex
	broken   []string
	said     map[string]bool
	observed []*observed // in the last life of the program
}

// Run returns a program for simtest that has informers of some resources. Until a deadline, it starts some of them late, stops
// and restarts some, adds and removes handlers, and has slow handlers.
func (o *Observer) Run(until time.Time) func(ctx context.Context, config *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		o.run(ctx, client, until)
		return nil
	}
}

func (o *Observer) run(ctx context.Context, client kubernetes.Interface, until time.Time) {
	var all []*observed
	for _, i := range rand.Perm(len(observable))[:maxObserved] {
		all = append(all, &observed{resource: observable[i], until: until, report: o.report, brief: len(all) > 0})
	}
	o.mu.Lock()
	o.observed = all
	o.mu.Unlock()
	var running sync.WaitGroup
	for _, one := range all {
		running.Go(func() { one.run(ctx, client) })
	}
	running.Wait()
}

func (o *Observer) report(rule HandlerRule, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.said[rule.Name] {
		return
	}
	if o.said == nil {
		o.said = map[string]bool{}
	}
	o.said[rule.Name] = true
	o.broken = append(o.broken, fmt.Sprintf("%s is broken: %s. %s (%s)", rule.Name, text, rule.Promise, rule.Source))
}

// Broken returns one sentence for the first violation of each of [HandlerRules].
func (o *Observer) Broken() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.broken)
}

// Agrees returns an error if the store of an informer, or the state that a handler has built from its
// notifications, differs from the cluster: once nothing changes any more, both must be exact copies
// (k8s.io/client-go/tools/cache.SharedInformer). Handlers with a resync period must have had a resync since the given time.
func (o *Observer) Agrees(ctx context.Context, client kubernetes.Interface, since time.Time) error {
	s, err := read(ctx, client)
	if err != nil {
		return err
	}
	o.mu.Lock()
	all := o.observed
	o.mu.Unlock()
	if len(all) == 0 {
		return fmt.Errorf("expected a running observer, found none")
	}
	for _, one := range all {
		if err := one.agrees(s, since); err != nil {
			return err
		}
	}
	return nil
}

// observed is a resource with a sequence of informers, one at a time.
type observed struct {
	resource schema.GroupVersionResource
	until    time.Time
	report   func(HandlerRule, string)
	brief    bool // informers are stopped and restarted

	mu       sync.Mutex
	informer cache.SharedIndexInformer // nil for none
	resync   time.Duration             // of the informer
	handlers []*handler
	number   int // of handlers
	stopped  time.Time
}

// run runs informers until ctx is done.
func (o *observed) run(ctx context.Context, client kubernetes.Interface) {
	for ctx.Err() == nil {
		if err := o.begin(client); err != nil {
			return
		}
		for range 1 + rand.IntN(maxHandlers-1) {
			o.add(true)
		}
		if rand.IntN(2) == 0 {
			time.Sleep(upTo(maxLateStart))
		}
		running, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			o.informer.RunWithContext(running)
		}()
		o.change()
		if !time.Now().Before(o.until) {
			<-ctx.Done()
		}
		stop()
		o.mu.Lock()
		o.stopped = time.Now()
		o.mu.Unlock()
		<-ended
		for _, h := range o.handlers {
			h.end()
		}
	}
}

// begin creates the next informer.
func (o *observed) begin(client kubernetes.Interface) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.resync, o.handlers, o.stopped = drawResync(), nil, time.Time{}
	generic, err := informers.NewSharedInformerFactory(client, o.resync).ForResource(o.resource)
	if err == nil {
		o.informer = generic.Informer()
	}
	return err
}

// drawResync draws a resync period, 0 for none.
func drawResync() time.Duration {
	if rand.IntN(3) == 0 {
		return 0
	}
	return time.Second + upTo(maxResync-time.Second)
}

// add adds a handler to the informer. It is early if the informer does not run yet.
func (o *observed) add(early bool) {
	o.number++
	h := newHandler(fmt.Sprintf("handler %d of %s", o.number, o.resource.Resource), o.report)
	asked := drawResync()
	h.early, h.until = early, o.until
	if o.resync > 0 { // an informer without a period does no resyncs
		h.resync = asked
	}
	if rand.IntN(3) == 0 {
		h.pace = upTo(maxPace)
	}
	registered, err := o.informer.AddEventHandlerWithOptions(h, cache.HandlerOptions{ResyncPeriod: &asked})
	if err != nil {
		return // the informer has stopped
	}
	h.mu.Lock()
	h.registered = registered
	h.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.handlers = append(o.handlers, h)
}

// remove shuts a handler down.
func (o *observed) remove(i int) {
	h := o.handlers[i]
	if err := cache.ShutDownEventHandler(o.informer, h.registered); err != nil {
		return
	}
	h.end()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.handlers = slices.Delete(slices.Clone(o.handlers), i, i+1)
}

// change adds and removes handlers until the informer is to be stopped, or the deadline.
func (o *observed) change() {
	end := o.until
	if o.brief {
		if last := time.Now().Add(upTo(maxLife)); last.Before(end) {
			end = last
		}
	}
	for time.Now().Before(end) {
		time.Sleep(min(upTo(4*time.Second), time.Until(end)))
		switch rand.IntN(4) {
		case 0:
			if len(o.handlers) < maxHandlers {
				o.add(false)
			}
		case 1:
			if len(o.handlers) > 1 {
				o.remove(rand.IntN(len(o.handlers)))
			}
		}
	}
}

// agrees compares the informer and its handlers with the state of the cluster.
func (o *observed) agrees(s *state, since time.Time) error {
	o.mu.Lock()
	informer, handlers, stopped := o.informer, o.handlers, o.stopped
	o.mu.Unlock()
	name := "the informer of " + o.resource.Resource
	switch {
	case informer == nil:
		return fmt.Errorf("%s has not started", name)
	case !stopped.IsZero():
		return fmt.Errorf("%s was stopped at %v and has not ended", name, stopped)
	case !informer.HasSynced():
		return fmt.Errorf("%s has not synced", name)
	}
	want, store := map[string]metav1.Object{}, map[string]metav1.Object{}
	for _, object := range s.objects() {
		if resourceOfKind(object) == o.resource.GroupResource().String() {
			want[describe(object)] = object
		}
	}
	for _, object := range informer.GetStore().List() {
		store[describe(object.(metav1.Object))] = object.(metav1.Object)
	}
	if text := difference(store, want); text != "" {
		return fmt.Errorf("%s %s", name, text)
	}
	for _, h := range handlers {
		if err := h.agrees(want, since); err != nil {
			return err
		}
	}
	return nil
}

func (h *handler) agrees(want map[string]metav1.Object, since time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.registered.HasSynced() {
		return fmt.Errorf("%s has not synced, and was told of %d objects of %d", h.name, len(h.last), len(want))
	}
	if text := difference(h.last, want); text != "" {
		return fmt.Errorf("%s %s", h.name, text)
	}
	for _, key := range slices.Sorted(maps.Keys(h.told)) {
		if h.resync > 0 && !h.told[key].After(since) {
			return fmt.Errorf("%s has a resync period of %v, and was last told of %s at %v", h.name, h.resync, key, h.told[key])
		}
	}
	return nil
}

// difference describes the first difference, "" if there is none.
func difference(have, want map[string]metav1.Object) string {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		switch had := have[key]; {
		case had == nil:
			return fmt.Sprintf("lacks %s, %s", key, versioned(want[key]))
		case !isSame(had, want[key]):
			return fmt.Sprintf("has %s with %s, and there is %s", key, versioned(had), versioned(want[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(have)) {
		if want[key] == nil {
			return fmt.Sprintf("has %s with %s, which is gone", key, versioned(have[key]))
		}
	}
	return ""
}
