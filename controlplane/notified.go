package controlplane

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// notification is what an informer tells a handler.
type notification struct {
	verb string // added, updated or deleted
	key  string
	// old is the object that an update replaces. now is the object of the notification, nil for a deletion
	// with an unknown last state.
	old, now metav1.Object
	// initial is isInInitialList of an addition. unknown means DeletedFinalStateUnknown: a list found the deletion.
	initial, unknown bool
}

const (
	added   = "added"
	updated = "updated"
	deleted = "deleted"
)

// HandlerRule is a promise of an informer to each of its handlers.
type HandlerRule struct {
	Name string
	// Promise is the rule as a sentence, and Source where client-go promises it.
	Promise, Source string
	// broken describes how a notification breaks the rule, and returns "" if it does not. The handler is in the state before.
	broken func(h *handler, n notification) string
}

// HandlerRules are all rules for notifications.
var HandlerRules = []HandlerRule{
	{
		"OneAtATime", "Notifications are delivered to a handler one after the other.",
		"k8s.io/client-go/tools/cache.SharedInformer: for a given SharedInformer and client, the notifications are delivered sequentially", oneAtATime,
	},
	{
		"ToldInOrder", "A handler is told that an object was added, then of its updates, then of its deletion.",
		"k8s.io/client-go/tools/cache.SharedInformer: for a given client and object ID, the notifications are delivered in order", toldInOrder,
	},
	{
		"NeverBack", "The resourceVersions of an object that a handler is told of never decrease, and that of a deletion is one at which the object is gone.",
		"k8s.io/client-go/tools/cache.SharedInformer: ordering among the appearing states is correct; a delete notification has a ResourceVersion in which the object is actually absent", neverBack,
	},
	{
		"OldWasGiven", "The old object of an update, and the one that a list has found deleted, is the one that the handler was given last.",
		"k8s.io/client-go/tools/cache.SharedInformer: for every update to the local cache the client is notified", oldWasGiven,
	},
	{
		"ResyncAsked", "Only a handler that has asked for resyncs gets them.",
		"k8s.io/client-go/tools/cache.SharedInformer.AddEventHandlerWithResyncPeriod: zero means this handler does not care about resyncs", resyncAsked,
	},
	{
		"InitialFirst", "Notifications of the initial list come before all others.",
		"k8s.io/client-go/tools/cache.ResourceEventHandlerDetailedFuncs: isInInitialList propagates HasSynced", initialFirst,
	},
	{
		"SyncedLast", "A handler has synced only when it has been told of the whole initial list.",
		"k8s.io/client-go/tools/cache.ResourceEventHandlerRegistration.HasSynced: the parent has synced and all pre-sync events have been delivered", syncedLast,
	},
	{
		"EndedIsSilent", "A handler gets no notification after its informer has stopped, or after it was shut down.",
		"k8s.io/client-go/tools/cache: RunWithContext returns after the informer stops; ShutDownEventHandler blocks until the handler has fully stopped processing events", endedIsSilent,
	},
}

// handler is an event handler of an informer. It remembers what it was told, as controllers do.
type handler struct {
	name string
	// early means that the handler was added before the informer ran. resync is its resync period, 0 for none.
	early  bool
	resync time.Duration
	// pace is the longest time that it takes for a notification, until the given time.
	pace  time.Duration
	until time.Time
	// report is told which rules a notification has broken.
	report func(rule HandlerRule, text string)

	mu sync.Mutex
	// registered is nil until the handler is added.
	registered cache.ResourceEventHandlerRegistration
	// last is the last known state of each object that exists, and told when the handler was told of it.
	last map[string]metav1.Object
	told map[string]time.Time
	// newest is the newest resourceVersion seen of each object, deleted ones included.
	newest map[string]int64
	// begun means that it has been told of more than the initial list.
	begun, busy, ended bool
}

func newHandler(name string, report func(HandlerRule, string)) *handler {
	return &handler{name: name, report: report, last: map[string]metav1.Object{}, told: map[string]time.Time{}, newest: map[string]int64{}}
}

// OnAdd implements cache.ResourceEventHandler.
func (h *handler) OnAdd(object any, initial bool) {
	h.take(notification{verb: added, now: object.(metav1.Object), initial: initial})
}

// OnUpdate implements cache.ResourceEventHandler.
func (h *handler) OnUpdate(old, now any) {
	h.take(notification{verb: updated, old: old.(metav1.Object), now: now.(metav1.Object)})
}

// OnDelete implements cache.ResourceEventHandler.
func (h *handler) OnDelete(object any) {
	n := notification{verb: deleted}
	if unknown, is := object.(cache.DeletedFinalStateUnknown); is {
		n.unknown, n.key, object = true, unknown.Key, unknown.Obj
	}
	n.now, _ = object.(metav1.Object)
	h.take(n)
}

// take checks a notification, and takes as long over it as the handler does.
func (h *handler) take(n notification) {
	if n.key == "" {
		n.key = describe(n.now)
	}
	h.mu.Lock()
	for _, rule := range HandlerRules {
		if text := rule.broken(h, n); text != "" {
			h.report(rule, text)
		}
	}
	h.apply(n)
	h.busy = true
	h.mu.Unlock()
	if h.pace > 0 && time.Now().Before(h.until) {
		time.Sleep(upTo(h.pace))
	}
	h.mu.Lock()
	h.busy = false
	h.mu.Unlock()
}

func (h *handler) apply(n notification) {
	h.begun = h.begun || !n.initial
	if n.now != nil {
		h.newest[n.key] = max(h.newest[n.key], versionOf(n.now))
	}
	if n.verb == deleted {
		delete(h.last, n.key)
		delete(h.told, n.key)
		return
	}
	h.last[n.key], h.told[n.key] = n.now, time.Now()
}

// end records that the handler must get no more notifications.
func (h *handler) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
}

// versionOf returns the resourceVersion of an object as a number, 0 if it is none.
func versionOf(o metav1.Object) int64 {
	version, _ := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	return version
}

// isSame reports whether two objects are the same state of one object.
func isSame(a, b metav1.Object) bool {
	return a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion()
}

// versioned names a state of an object.
func versioned(o metav1.Object) string {
	return fmt.Sprintf("UID %s at resourceVersion %s", o.GetUID(), o.GetResourceVersion())
}

func oneAtATime(h *handler, n notification) string {
	if !h.busy {
		return ""
	}
	return fmt.Sprintf("%s is told that %s was %s while it handles another notification", h.name, n.key, n.verb)
}

func toldInOrder(h *handler, n notification) string {
	last := h.last[n.key]
	switch {
	case n.verb == added && last != nil:
		return fmt.Sprintf("%s is told that %s was added, which it knows with %s", h.name, n.key, versioned(last))
	case n.verb != added && last == nil:
		return fmt.Sprintf("%s is told that %s was %s, which it does not know", h.name, n.key, n.verb)
	}
	return ""
}

func neverBack(h *handler, n notification) string {
	newest, known := h.newest[n.key]
	if !known || n.now == nil || n.unknown {
		return ""
	}
	version, last := versionOf(n.now), h.last[n.key]
	if version > newest || n.verb == updated && version == newest && (last == nil || last.GetUID() == n.now.GetUID()) {
		return ""
	}
	return fmt.Sprintf("%s is told that %s was %s with %s after resourceVersion %d", h.name, n.key, n.verb, versioned(n.now), newest)
}

func oldWasGiven(h *handler, n notification) string {
	old, last := n.old, h.last[n.key]
	if n.unknown {
		old = n.now
	}
	if old == nil || last == nil || isSame(old, last) {
		return ""
	}
	return fmt.Sprintf("%s is told that %s was %s from %s, and knows it with %s", h.name, n.key, n.verb, versioned(old), versioned(last))
}

// resyncAsked checks handlers that were added before the informer ran: a later one may get a resync that is in flight. A
// relist of an unchanged object comes with a new object of the same resourceVersion, a resync with the old object.
func resyncAsked(h *handler, n notification) string {
	if n.verb != updated || n.old != n.now || !h.early || h.resync > 0 {
		return ""
	}
	return fmt.Sprintf("%s gets a resync of %s, without having asked", h.name, n.key)
}

func initialFirst(h *handler, n notification) string {
	if !n.initial || !h.begun {
		return ""
	}
	return fmt.Sprintf("%s is told that %s is in the initial list after other notifications", h.name, n.key)
}

func syncedLast(h *handler, n notification) string {
	if !n.initial || h.registered == nil || !h.registered.HasSynced() {
		return ""
	}
	return fmt.Sprintf("%s is told that %s is in the initial list, but had synced before", h.name, n.key)
}

func endedIsSilent(h *handler, n notification) string {
	if !h.ended {
		return ""
	}
	return fmt.Sprintf("%s is told that %s was %s after it was shut down or its informer stopped", h.name, n.key, n.verb)
}
