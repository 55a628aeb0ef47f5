package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/watchsim/watchsim/cluster/scenario"
)

// ArtifactsFolder returns the folder below which the failures of a campaign leave their artifacts,
// one folder each, beside the results.
func ArtifactsFolder(results string) string { return filepath.Join(results, "failures") }

// Keeper removes the artifacts of failures beyond those to keep of each signature. Those of the
// lowest seeds stay, in whatever order failures are found. It is used by one goroutine.
type Keeper struct {
	results string
	spec    scenario.Spec
	most    int
	kept    map[Signature][]uint64
}

// NewKeeper returns a Keeper of the artifacts of at most that many failures of each signature, for
// one campaign with its folder of results.
func NewKeeper(results string, spec scenario.Spec, most int) *Keeper {
	return &Keeper{results: results, spec: spec, most: most, kept: map[Signature][]uint64{}}
}

// Add notes a result, and removes artifacts that are in excess.
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

// artifacts returns the folder of a seed of a campaign.
func artifacts(results string, spec scenario.Spec, seed uint64) string {
	return filepath.Join(ArtifactsFolder(results), spec.WithSeed(seed).Name())
}
