package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/watchsim/watchsim/cluster/scenario"
)

// artifactsFolder is where failures leave their artifacts, beside the results.
const artifactsFolder = "failures"

// ArtifactsFolder is the folder below which the failures of a campaign leave
// their artifacts, each in one of its own.
func ArtifactsFolder(results string) string { return filepath.Join(results, artifactsFolder) }

// Keeper removes the artifacts of failures that others of the same signature
// show as well. Those of the lowest seeds stay, whatever the order in which the
// failures are found. One goroutine uses it.
type Keeper struct {
	results string
	spec    scenario.Spec
	most    int
	kept    map[Signature][]uint64
}

// NewKeeper keeps the artifacts of at most so many failures of each signature,
// of one campaign and below its folder of results.
func NewKeeper(results string, spec scenario.Spec, most int) *Keeper {
	return &Keeper{results: results, spec: spec, most: most, kept: map[Signature][]uint64{}}
}

// Add takes notice of a result, and removes artifacts that are one too many.
func (k *Keeper) Add(result Result) error {
	signature, ok := SignatureOf(result)
	if !ok {
		return nil
	}
	seeds := append(k.kept[signature], result.Seed)
	slices.Sort(seeds)
	if len(seeds) > k.most {
		last := len(seeds) - 1
		if err := os.RemoveAll(artifacts(k.results, k.spec, seeds[last])); err != nil {
			return fmt.Errorf("cannot remove the artifacts of seed %d: %w", seeds[last], err)
		}
		seeds = seeds[:last]
	}
	k.kept[signature] = seeds
	return nil
}

// artifacts is the folder of a seed of a campaign.
func artifacts(results string, spec scenario.Spec, seed uint64) string {
	return filepath.Join(ArtifactsFolder(results), spec.WithSeed(seed).Name())
}
