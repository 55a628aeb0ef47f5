//go:build !watchsim

package simtest

import (
	"errors"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/sim"
)

// simulates reports whether this binary has a cluster to boot. This one has none: it builds another
// one that has.
const simulates = false

func bootWorld() sim.Config { return sim.Config{} }

func seedWorld(uint64, time.Duration) sim.Config { return sim.Config{} }

func boot(*sim.World, Config, io.Writer, func(string, int)) (booted, error) {
	return nil, errors.ErrUnsupported
}

func objectsOf(*unstructured.Unstructured) (*rapid.Generator[*unstructured.Unstructured], error) {
	return nil, errors.ErrUnsupported
}
