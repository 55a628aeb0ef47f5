package linearizability_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// lenient asks for no minimum, so that short histories can pass.
func lenient() linearizability.Config {
	config := linearizability.DefaultConfig()
	config.Minimum = linearizability.Counts{}
	return config
}

func TestCorrectHistoriesPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := generate(rapidChooser{t}, rapid.IntRange(1, 120).Draw(t, "steps"))
		verdict := linearizability.Check(history, lenient())
		require.Empty(t, verdict.Violations)
		require.Equal(t, linearizability.Passed, verdict.Outcome, verdict.Reason)
	})
}

// TestManyCorrectHistoriesPass covers more ground than rapid can in the time.
func TestManyCorrectHistoriesPass(t *testing.T) {
	total := map[string]int{}
	for seed := range uint64(300) {
		history := generate(randomChooser{rand.New(rand.NewPCG(seed, 1))}, 400)
		verdict := linearizability.Check(history, lenient())
		require.Empty(t, verdict.Violations, "seed %d", seed)
		c := verdict.Counts
		for name, count := range map[string]int{"blocks": c.Blocks, "refused": c.Refused, "pages": c.Pages, "delivered": c.Delivered,
			"unknown": c.UnknownWrites, "shared": c.Shared, "released": c.Released, "mutated": c.Mutated} {
			total[name] += count
		}
	}
	for name, count := range total {
		require.Greater(t, count, 100, name)
	}
}

func BenchmarkCheck(b *testing.B) {
	history := benchmarkHistory()
	config := lenient()
	counts := linearizability.Check(history, config).Counts
	b.ReportAllocs()
	for b.Loop() {
		if verdict := linearizability.Check(history, config); verdict.Outcome != linearizability.Passed {
			b.Fatal(verdict.Violations)
		}
	}
	b.ReportMetric(float64(len(history.Operations)), "operations")
	b.ReportMetric(float64(counts.Streams), "streams")
	b.ReportMetric(float64(counts.Events), "events")
}

// benchmarkHistory is what a run of 60 simulated seconds records: some 200
// operations and 3,000 events.
func benchmarkHistory() *model.History {
	w := newWorld(randomChooser{rand.New(rand.NewPCG(7, 7))})
	for len(w.h.Operations) < 200 {
		w.now += step
		switch w.below(12) {
		case 0, 1, 2, 3, 4, 5:
			w.write()
		case 6:
			w.get()
		case 7:
			w.list()
		case 8, 9, 10:
			if len(w.h.Streams) < 120 {
				w.open()
			}
		default:
			w.deliver()
		}
	}
	w.rest()
	return &w.h
}
