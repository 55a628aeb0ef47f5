package apiserver

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/component-base/featuregate"
)

// setGates sets feature gates of k8s.io/apiserver and client-go, such as WatchList=false,
// for the whole process. All servers of a run have the same gates.
func setGates(gates []string) error {
	if len(gates) == 0 {
		return nil // even an empty map draws from the random numbers of the run
	}
	client := clientGates{inner: clientfeatures.FeatureGates(), values: map[clientfeatures.Feature]bool{}}
	var problems []error
	for _, gate := range gates {
		name, text, _ := strings.Cut(gate, "=")
		value, err := strconv.ParseBool(text)
		switch _, known := utilfeature.DefaultFeatureGate.DeepCopy().GetAll()[featuregate.Feature(name)]; {
		case err != nil:
			problems = append(problems, fmt.Errorf("expected a feature gate such as WatchList=false, found %q", gate))
		case known:
			problems = append(problems, utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{name: value}))
		default:
			client.values[clientfeatures.Feature(name)] = value
		}
	}
	if len(client.values) > 0 {
		clientfeatures.ReplaceFeatureGates(client)
	}
	return errors.Join(problems...)
}

// clientGates are client-go's feature gates with some of them replaced.
type clientGates struct {
	inner  clientfeatures.Gates
	values map[clientfeatures.Feature]bool
}

func (g clientGates) Enabled(gate clientfeatures.Feature) bool {
	if value, set := g.values[gate]; set {
		return value
	}
	return g.inner.Enabled(gate)
}
