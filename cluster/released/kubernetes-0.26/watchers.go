package kubernetes

import (
	"reflect"

	"k8s.io/apiserver/pkg/storage/cacher"
)

// countWatchers returns how many watches a cacher has registered, which the cacher does not expose.
// Reflection may inspect unexported fields as long as it does not extract their values.
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
