package kubernetes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/target/apiserver/conformance"
)

func TestConformance(t *testing.T) { conformance.Run(t, New) }

func TestTargetDescribesItself(t *testing.T) {
	require.Equal(t, "kubernetes", New().Name())
	require.Equal(t, "/registry/pods/", New().Prefix())
}

func BenchmarkTarget(b *testing.B) { conformance.Benchmark(b, New) }
