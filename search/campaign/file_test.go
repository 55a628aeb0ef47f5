package campaign_test

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/campaign"
)

// held returns the seeds that a resumed file holds.
func held(t *testing.T, folder string, h campaign.Header) []uint64 {
	t.Helper()
	var seeds []uint64
	file, err := campaign.Open(folder, h, func(result campaign.Result) { seeds = append(seeds, result.Seed) })
	require.NoError(t, err)
	require.NoError(t, file.Close())
	return seeds
}

func TestShardGoesOnWithWhatAKillHasLeft(t *testing.T) {
	whole := func(content string) string { return content }
	for name, row := range map[string]struct {
		damage func(content string) string
		left   []uint64
	}{
		"all lines whole":       {whole, []uint64{1, 3, 5}},
		"no newline":            {func(c string) string { return strings.TrimSuffix(c, "\n") }, []uint64{1, 3}},
		"half a last line":      {func(c string) string { return c[:len(c)-100] }, []uint64{1, 3}},
		"zeros of a lost write": {func(c string) string { return c + strings.Repeat("\x00", 512) }, []uint64{1, 3, 5}},
		"a torn last line":      {func(c string) string { return c[:len(c)-100] + strings.Repeat("\x00", 99) + "\n" }, []uint64{1, 3}},
		"the header only":       {func(c string) string { return c[:strings.Index(c, "\n")+1] }, nil},
		"half the header":       {func(c string) string { return c[:40] }, nil},
		"nothing":               {func(string) string { return "" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			folder, h := t.TempDir(), header(6, 1, 2)
			write(t, folder, h, 1, 3, 5)
			path := filepath.Join(folder, h.FileName())
			undisturbed, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, []byte(row.damage(string(undisturbed))), 0o600))

			left := held(t, folder, h)
			require.Equal(t, row.left, left)
			all := []uint64{1, 3, 5}
			write(t, folder, h, all[len(left):]...)
			resumed, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(undisturbed), string(resumed))
		})
	}
}

func TestShardRefusesAFileThatIsNotItsOwn(t *testing.T) {
	folder, h := t.TempDir(), header(6, 1, 2)
	write(t, folder, h, 1, 3, 5)
	path := filepath.Join(folder, h.FileName())
	content, err := os.ReadFile(path)
	require.NoError(t, err)

	lines := strings.SplitAfter(string(content), "\n")
	replaced := func(old, by string) string { return strings.Replace(string(content), old, by, 1) }
	with := func(alter func(h *campaign.Header)) campaign.Header {
		other := h
		alter(&other)
		return other
	}
	const another = " is of another campaign"
	for name, row := range map[string]struct {
		header  campaign.Header // of the process that opens the file
		content string
		says    []string
	}{
		"other seeds":      {with(func(h *campaign.Header) { h.Last = 5 }), "", []string{another, "expected seeds 1 to 5, found 1 to 6"}},
		"other scenario":   {with(func(h *campaign.Header) { h.Spec.Scenario = "storm" }), "", []string{another, "expected scenario storm, found calm"}},
		"other target":     {with(func(h *campaign.Header) { h.Spec.Target = "kubernetes" }), "", []string{another, "expected target kubernetes, found cacher"}},
		"other mutant":     {with(func(h *campaign.Header) { h.Spec.Mutant = "A01" }), "", []string{another, `expected mutant "A01", found ""`}},
		"other operations": {with(func(h *campaign.Header) { h.Spec.Operations = 5 }), "", []string{another, `"operations":5`}},
		"other faults":     {with(func(h *campaign.Header) { h.Spec.Kinds = nil }), "", []string{another, `"kinds":null`}},
		"other build":      {with(func(h *campaign.Header) { h.Build = "0ff" }), "", []string{another, "expected results of build 0ff, found b17d"}},

		"another shard's, renamed": {h, strings.Replace(lines[0], `"shard":1`, `"shard":2`, 1), []string{another, "expected shard 1/2, found 2/2"}},
		"no results":               {h, "not a header\n", []string{`expected a first line of JSON with the format "watchsim.results"`}},
		"newer results":            {h, replaced(`"version":2`, `"version":3`), []string{"expected version 2, found version 3"}},
		"damage in the middle":     {h, lines[0] + "{\n" + lines[1], []string{"line 2: expected a verdict as JSON"}},
		"a seed twice":             {h, lines[0] + lines[1] + lines[1], []string{"line 3: expected each seed once, found seed 1 again"}},
		"a seed of another shard":  {h, replaced(`"seed":3`, `"seed":4`), []string{"line 3: expected a seed of shard 1/2 of 1 to 6, found seed 4"}},
		"a seed beyond the range":  {h, replaced(`"seed":5`, `"seed":7`), []string{"found seed 7"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := cmp.Or(row.content, string(content))
			require.NoError(t, os.WriteFile(path, []byte(before), 0o600))
			_, err := campaign.Open(folder, row.header, func(campaign.Result) {})
			require.ErrorIs(t, err, campaign.ErrResults)
			require.ErrorContains(t, err, path)
			for _, says := range row.says {
				require.ErrorContains(t, err, says)
			}
			require.NotContains(t, err.Error(), "\n")
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, before, string(after), "nothing may be lost")
		})
	}
}

func TestTwoProcessesNeverWriteToOneFile(t *testing.T) {
	folder, h := t.TempDir(), header(6, 1, 2)
	file, err := campaign.Open(folder, h, func(campaign.Result) {})
	require.NoError(t, err)
	_, err = campaign.Open(folder, h, func(campaign.Result) {})
	require.ErrorIs(t, err, campaign.ErrResults)
	require.ErrorContains(t, err, "found another process writing to it")
	require.NoError(t, file.Close())
	require.Empty(t, held(t, folder, h))
}

func TestResultsHoldNothingOfOneMachineOrSeed(t *testing.T) {
	folder, h := t.TempDir(), header(6, 1, 2)
	file, err := campaign.Open(folder, h, func(campaign.Result) {})
	require.NoError(t, err)
	result := verdict(1)
	result.Folder = "/home/somebody/out/cacher-calm-1"
	require.NoError(t, file.Append(result))
	require.NoError(t, file.Close())
	content, err := os.ReadFile(filepath.Join(folder, h.FileName()))
	require.NoError(t, err)
	require.NotContains(t, string(content), "somebody")
	require.Zero(t, h.Spec.Seed)
	require.Equal(t, "simrun --seed 5 --scenario calm", h.Reproduce(5))
}

// A campaign does not begin among the artifacts of one whose results were moved away: it would
// overwrite those of the same seeds.
func TestACampaignDoesNotBeginAmongOtherArtifacts(t *testing.T) {
	folder, h := t.TempDir(), header(6, 1, 2)
	write(t, folder, h, 1)
	require.NoError(t, os.MkdirAll(filepath.Join(campaign.ArtifactsFolder(folder), "cacher-minute-1"), 0o700))
	require.Equal(t, []uint64{1}, held(t, folder, h), "it goes on among its own")
	require.NoError(t, os.Remove(filepath.Join(folder, h.FileName())))
	_, err := campaign.Open(folder, h, func(campaign.Result) {})
	require.ErrorIs(t, err, campaign.ErrResults)
	require.ErrorContains(t, err, "give another --out")
}
