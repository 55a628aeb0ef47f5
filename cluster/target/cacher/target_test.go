package cacher

import (
	"testing"

	"github.com/watchsim/watchsim/cluster/target/apiserver/conformance"
)

func TestConformance(t *testing.T) { conformance.Run(t, "cacher", New()) }

func BenchmarkTarget(b *testing.B) { conformance.Benchmark(b, New()) }
