package campaign_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/campaign"
)

// The lowest seeds of each signature keep their artifacts, in whatever order failures are found,
// and even if the process was killed in between.
func TestLowestSeedsOfASignatureKeepTheirArtifacts(t *testing.T) {
	h := header(40, 1, 1)
	failed := []uint64{40, 11, 30, 20, 33, 10, 22}
	for most, kept := range map[int][]uint64{
		0: nil,
		1: {10, 11},
		2: {10, 11, 20, 22},
		9: {10, 11, 20, 22, 30, 33, 40},
	} {
		for _, order := range [][]uint64{failed, slices.Sorted(slices.Values(failed))} {
			folder := t.TempDir()
			for round := range 2 { // the second is after a kill
				keeper := campaign.NewKeeper(folder, h.Spec, most)
				for _, seed := range order {
					if round == 0 {
						require.NoError(t, os.MkdirAll(filepath.Join(campaign.ArtifactsFolder(folder), h.Spec.WithSeed(seed).Name()), 0o700))
					}
					require.NoError(t, keeper.Add(verdict(seed)))
				}
				require.NoError(t, keeper.Add(verdict(1)), "it passed")
				entries, err := os.ReadDir(campaign.ArtifactsFolder(folder))
				require.NoError(t, err)
				var names, want []string
				for _, entry := range entries {
					names = append(names, entry.Name())
				}
				for _, seed := range kept {
					want = append(want, h.Spec.WithSeed(seed).Name())
				}
				require.ElementsMatch(t, want, names)
			}
		}
	}
}
