package kubernetes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/etcd/current"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver/conformance"
)

// inGoMod is the target over the release of etcd in go.mod.
func inGoMod() target.Target { return New("kubernetes", current.Release{}) }

func TestConformance(t *testing.T) { conformance.Run(t, inGoMod) }

func TestTargetDescribesItself(t *testing.T) {
	require.Equal(t, "kubernetes", inGoMod().Name())
	require.Equal(t, "/registry/pods/", inGoMod().Prefix())
}

func BenchmarkTarget(b *testing.B) { conformance.Benchmark(b, inGoMod) }
