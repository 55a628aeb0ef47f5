package faults

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPlansOfSeedsStay pins the text of 3,000 generated plans. Seeds in reports and docs
// lose their meaning when this digest changes; change it only together with them.
func TestPlansOfSeedsStay(t *testing.T) {
	digest := sha256.New()
	for seed := range uint64(1000) {
		every, alone := generatorConfig(), generatorConfig()
		every.Every = true
		alone.Members = alone.Members[:1]
		for _, config := range []GeneratorConfig{generatorConfig(), every, alone} {
			plan, err := Generate(rand.New(rand.NewPCG(seed, 0)), config)
			require.NoError(t, err)
			fmt.Fprint(digest, plan)
		}
	}
	require.Equal(t, "b9a82324c6015da7e860caf443710e2f11f8bc5b74fd586b3b36187f39e40f38", fmt.Sprintf("%x", digest.Sum(nil)))
}
