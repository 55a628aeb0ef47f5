package simtest

import (
	endian "encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Half of the seeds encrypt nothing. The others encrypt each choice of resources, have either kind of outage, and rotate keys
// up to three times.
func TestWhatSeedsEncrypt(t *testing.T) {
	const seeds = 600
	seen := map[string]int{}
	for seed := range uint64(seeds) {
		random, input := rand.New(rand.NewPCG(seed, 0)), []byte{}
		for range 16 {
			input = endian.LittleEndian.AppendUint64(input, random.Uint64())
		}
		var drawn drawnEncryption
		rapid.MakeFuzz(func(t *rapid.T) { drawn = encryptions(time.Minute).Draw(t, "") })(t, input)
		seen[strings.Join(drawn.Resources, " ")]++
		if len(drawn.Resources) > 0 {
			seen[map[bool]string{true: "silent", false: "errors"}[drawn.Silent]]++
			seen[string(rune('0'+len(drawn.Changes)))+" changes"]++
		}
	}
	require.InDelta(t, seeds/2, seen[""], seeds/8, "%v", seen)
	for _, what := range []string{"secrets", "secrets configmaps", "*.*", "silent", "errors", "0 changes", "1 changes", "2 changes", "3 changes"} {
		require.Greater(t, seen[what], seeds/20, "%s: %v", what, seen)
	}
}
