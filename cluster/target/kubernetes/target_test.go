package kubernetes

import (
	"testing"

	"github.com/watchsim/watchsim/cluster/etcd/current"
	"github.com/watchsim/watchsim/cluster/target/apiserver/conformance"
)

// inGoMod is the target over the release of etcd in go.mod.
var inGoMod = New("kubernetes", current.Release{})

func TestConformance(t *testing.T) { conformance.Run(t, "kubernetes", inGoMod) }

func BenchmarkTarget(b *testing.B) { conformance.Benchmark(b, inGoMod) }
