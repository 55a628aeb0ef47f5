package kubernetes

import (
	"reflect"

	"k8s.io/apiserver/pkg/storage/cacher"
)

// countWatchers returns how many watches a cacher has registered, which it tells
// nobody. Reflection may look at fields that are not exported, as long as it takes
// nothing out of them.
func countWatchers(c *cacher.Cacher) int {
	c.RLock()
	defer c.RUnlock()
	registered := reflect.ValueOf(c).Elem().FieldByName("watchers")
	total := registered.FieldByName("allWatchers").Len()
	for watchers := registered.FieldByName("valueWatchers").MapRange(); watchers.Next(); {
		total += watchers.Value().Len()
	}
	return total
}
