package decorator

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Sizes are window sizes by resource: how many events a cache keeps at most. 0
// means no cache at all.
type Sizes map[schema.GroupResource]int

// ParseSizes reads settings such as "pods#1000" and "deployments.apps#0", as the
// flag --watch-cache-sizes of kube-apiserver has them.
func ParseSizes(settings []string) (Sizes, error) {
	sizes := Sizes{}
	for _, setting := range settings {
		resource, number, found := strings.Cut(setting, "#")
		size, err := strconv.Atoi(number)
		if !found || resource == "" || err != nil || size < 0 {
			return nil, fmt.Errorf("expected a window size as in pods#1000 or deployments.apps#0, found %q", setting)
		}
		sizes[schema.ParseGroupResource(resource)] = size
	}
	return sizes, nil
}
