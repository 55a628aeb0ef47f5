package cacher

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"
)

const nameField = "metadata.name"

// groupKey is what the watches of a group have in common: the requested keys and, optionally, the
// value of one field. A watch is in one group, and the events that it may deliver all concern that
// group.
type groupKey struct {
	prefix       string // without a slash at the end
	field, value string
}

// group are the watches with one groupKey.
type group struct {
	key      groupKey
	watchers []*watcher
	// concerned is the position of the first event of the current batch that concerns the group, if
	// round is the dispatcher's.
	concerned, round uint64
}

// watchers are the open watches of the cache, by the events that concern them.
type watchers struct {
	trigger     storage.IndexerFunc // nil for none
	triggerName string
	limit       int

	mu        sync.Mutex
	all       []*watcher // each at its place
	groups    map[groupKey]*group
	byField   map[string]int // how many watches are grouped by a field
	round     uint64
	bookmarks bookmarkQueue
}

func newWatchers(config *Config) *watchers {
	w := &watchers{groups: map[groupKey]*group{}, byField: map[string]int{}, limit: config.MaxWatchers}
	for name, trigger := range config.IndexerFuncs {
		w.triggerName, w.trigger = name, trigger
	}
	return w
}

// keyOf returns the group of a watch.
func (w *watchers) keyOf(prefix string, predicate storage.SelectionPredicate) groupKey {
	key := groupKey{prefix: strings.TrimSuffix(prefix, "/")}
	if predicate.Field == nil {
		return key
	}
	if value, ok := predicate.Field.RequiresExactMatch(nameField); ok {
		key.field, key.value = nameField, value
		return key
	}
	if w.trigger != nil && slices.Contains(predicate.IndexFields, w.triggerName) {
		if value, ok := predicate.Field.RequiresExactMatch(w.triggerName); ok {
			key.field, key.value = w.triggerName, value
		}
	}
	return key
}

// add registers a watch.
func (w *watchers) add(added *watcher, key groupKey) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.limit > 0 && len(w.all) >= w.limit {
		return apierrors.NewTooManyRequests(fmt.Sprintf("watch limit exceeded: %d watches are open", w.limit), 1)
	}
	g := w.groups[key]
	if g == nil {
		g = &group{key: key}
		w.groups[key] = g
	}
	added.group, added.slot = g, len(g.watchers)
	g.watchers = append(g.watchers, added)
	w.byField[key.field]++
	added.place = len(w.all)
	w.all = append(w.all, added)
	w.bookmarks.schedule(added)
	return nil
}

// remove removes a watch, if it is registered.
func (w *watchers) remove(removed *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := removed.group
	if g == nil {
		return
	}
	g.watchers = replaceByLast(g.watchers, removed.slot)
	if removed.slot < len(g.watchers) {
		g.watchers[removed.slot].slot = removed.slot
	}
	if len(g.watchers) == 0 {
		delete(w.groups, g.key)
	}
	w.all = replaceByLast(w.all, removed.place)
	if removed.place < len(w.all) {
		w.all[removed.place].place = removed.place
	}
	removed.group = nil
	w.byField[g.key.field]--
	w.bookmarks.cancel(removed)
}

// replaceByLast removes the watcher at a place and puts the last one there.
func replaceByLast(from []*watcher, place int) []*watcher {
	last := len(from) - 1
	from[place] = from[last]
	from[last] = nil
	return from[:last]
}

// endAll ends every watch.
func (w *watchers) endAll() {
	w.mu.Lock()
	all := slices.Clone(w.all)
	w.mu.Unlock()
	for _, each := range all {
		each.end()
	}
}

// len returns the number of open watches.
func (w *watchers) len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all)
}

// wake wakes the watches that events may concern; position is that of the first event. Only the
// dispatcher calls it.
func (w *watchers) wake(events []*event, position uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.round++
	var concerned []*group
	touch := func(key groupKey, at uint64) {
		if g := w.groups[key]; g != nil && g.round != w.round {
			g.round, g.concerned = w.round, at
			concerned = append(concerned, g)
		}
	}
	for i, e := range events {
		w.eachKey(e, func(key groupKey) { touch(key, position+uint64(i)) })
	}
	end := position + uint64(len(events))
	for _, g := range concerned {
		for _, each := range g.watchers {
			each.wake(g.concerned, end)
		}
	}
}

// eachKey visits the groups that an event concerns: those of its key and of all prefixes above it,
// each with and without the values of the object's fields, before the change and after it.
func (w *watchers) eachKey(e *event, visit func(groupKey)) {
	states := [2]*element{e.after, e.before}
	var triggers [2]string
	if w.byField[w.triggerName] > 0 && w.trigger != nil {
		for i, state := range states {
			if state != nil {
				triggers[i] = w.trigger(state.object)
			}
		}
	}
	for end := len(e.key); end > 0; end = strings.LastIndexByte(e.key[:end], '/') {
		prefix := e.key[:end]
		visit(groupKey{prefix: prefix})
		for i, state := range states {
			if state == nil {
				continue
			}
			if w.byField[nameField] > 0 {
				visit(groupKey{prefix, nameField, state.fields[nameField]})
			}
			if w.trigger != nil && w.byField[w.triggerName] > 0 {
				visit(groupKey{prefix, w.triggerName, triggers[i]})
			}
		}
	}
}
