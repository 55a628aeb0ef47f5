package linearizability_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/linearizability"
)

// lenient has no minimum, so that short histories can pass.
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

// TestManyCorrectHistoriesPass covers more than rapid can in the time.
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
