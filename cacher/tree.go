package cacher

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/third_party/forked/golang/btree"
)

// degree is the trees' branching factor: how many children a node has at least.
const degree = 16

// element is one object with what selectors match. It is immutable.
type element struct {
	key    string
	object runtime.Object
	labels labels.Set
	fields fields.Set
}

// entry is an element's position in an index.
type entry struct {
	value   string
	element *element
}

// index orders elements by one of their values, then by key.
type index struct {
	name    string
	values  cache.IndexFunc
	entries *btree.BTree[entry]
}

// tree holds objects in the order of their keys, and the same objects by index. clone is cheap:
// what two trees share is copied when one of them changes it. One goroutine at a time may change or
// clone a tree; reading a clone that nobody changes needs no lock.
type tree struct {
	objects *btree.BTree[*element]
	indexes []index
}

func newTree(indexers *cache.Indexers) *tree {
	t := &tree{objects: btree.New(degree, func(a, b *element) bool { return a.key < b.key })}
	if indexers == nil {
		return t
	}
	for name, values := range *indexers {
		entries := btree.New(degree, func(a, b entry) bool {
			if a.value != b.value {
				return a.value < b.value
			}
			return a.element.key < b.element.key
		})
		t.indexes = append(t.indexes, index{name: name, values: values, entries: entries})
	}
	slices.SortFunc(t.indexes, func(a, b index) int { return strings.Compare(a.name, b.name) })
	return t
}

// empty returns an empty tree with the same indexes.
func (t *tree) empty() *tree {
	indexers := cache.Indexers{}
	for _, index := range t.indexes {
		indexers[index.name] = index.values
	}
	return newTree(&indexers)
}

func (t *tree) clone() *tree {
	copied := &tree{objects: t.objects.Clone(), indexes: slices.Clone(t.indexes)}
	for i := range copied.indexes {
		copied.indexes[i].entries = t.indexes[i].entries.Clone()
	}
	return copied
}

// indexable reports whether every index accepts an object; the tree takes no other.
func (t *tree) indexable(object runtime.Object) error {
	for _, index := range t.indexes {
		if _, err := index.values(object); err != nil {
			return fmt.Errorf("index %q: %w", index.name, err)
		}
	}
	return nil
}

func (t *tree) get(key string) *element {
	found, _ := t.objects.Get(&element{key: key})
	return found
}

// put adds e, or replaces the element with its key.
func (t *tree) put(e *element) {
	old, replaced := t.objects.ReplaceOrInsert(e)
	for _, index := range t.indexes {
		var values []string
		values, _ = index.values(e.object)
		if replaced {
			index.removeExcept(old, values)
		}
		for _, value := range values {
			index.entries.ReplaceOrInsert(entry{value: value, element: e})
		}
	}
}

// remove removes the element with the key, if there is one.
func (t *tree) remove(key string) {
	old, found := t.objects.Delete(&element{key: key})
	if !found {
		return
	}
	for _, index := range t.indexes {
		index.removeExcept(old, nil)
	}
}

func (i index) removeExcept(old *element, values []string) {
	oldValues, _ := i.values(old.object)
	for _, value := range oldValues {
		if !slices.Contains(values, value) {
			i.entries.Delete(entry{value: value, element: old})
		}
	}
}

// ascend visits the objects below a prefix in the order of their keys, beginning
// at from if that is later, until visit returns false.
func (t *tree) ascend(prefix, from string, visit func(*element) bool) {
	t.objects.AscendGreaterOrEqual(&element{key: max(prefix, from)}, func(e *element) bool {
		if !strings.HasPrefix(e.key, prefix) {
			return false
		}
		return !below(e.key, prefix) || visit(e)
	})
}

// hasIndex reports whether there is an index of that name.
func (t *tree) hasIndex(name string) bool {
	return slices.ContainsFunc(t.indexes, func(i index) bool { return i.name == name })
}

// ascendIndex is ascend over the objects with one value in an index.
func (t *tree) ascendIndex(name, value, prefix, from string, visit func(*element) bool) {
	for _, index := range t.indexes {
		if index.name != name {
			continue
		}
		start := entry{value: value, element: &element{key: max(prefix, from)}}
		index.entries.AscendGreaterOrEqual(start, func(e entry) bool {
			if e.value != value || !strings.HasPrefix(e.element.key, prefix) {
				return false
			}
			return !below(e.element.key, prefix) || visit(e.element)
		})
	}
}

// below reports whether a key is a prefix or is below it: /pods/a is below /pods and /pods/, but
// not below /pod.
func below(key, prefix string) bool {
	if !strings.HasPrefix(key, prefix) {
		return false
	}
	return len(key) == len(prefix) || strings.HasSuffix(prefix, "/") || key[len(prefix)] == '/'
}
