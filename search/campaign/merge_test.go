package campaign_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/campaign"
)

const last = 143

// divided writes the results of all shards into a folder.
func divided(t *testing.T, count int) string {
	t.Helper()
	folder := t.TempDir()
	for index := 1; index <= count; index++ {
		h := header(last, index, count)
		write(t, folder, h, seedsOf(h)...)
	}
	return folder
}

// merged is a summary as JSON, and all results in one file.
func merged(t *testing.T, paths ...string) (summary, results string) {
	t.Helper()
	m, err := campaign.Merge(paths)
	require.NoError(t, err)
	text, err := json.Marshal(m.Summary)
	require.NoError(t, err)
	var all bytes.Buffer
	require.NoError(t, m.WriteResults(&all))
	return string(text), all.String()
}

func TestHowACampaignWasDividedDoesNotShow(t *testing.T) {
	h := header(last, 1, 1)
	folder := t.TempDir()
	write(t, folder, h, seedsOf(h)...)
	summary, results := merged(t, folder)
	for _, count := range []int{2, 3, 16} {
		again, all := merged(t, divided(t, count))
		require.Equal(t, summary, again, "%d shards", count)
		require.Equal(t, results, all, "%d shards", count)
	}

	// A merged file can be merged, and resumed.
	one := filepath.Join(t.TempDir(), h.FileName())
	require.NoError(t, os.WriteFile(one, []byte(results), 0o600))
	again, all := merged(t, one)
	require.Equal(t, summary, again)
	require.Equal(t, results, all)
	require.Len(t, held(t, filepath.Dir(one), h), last)
}

func TestMergeCountsAndGroups(t *testing.T) {
	m, err := campaign.Merge([]string{divided(t, 3)})
	require.NoError(t, err)
	require.True(t, m.Complete())
	require.EqualValues(t, last, m.Seeds)
	// 14 multiples of 10, 12 of 11 that are not of 10, and 8 of 13 that are of neither.
	require.EqualValues(t, 26, m.Failed)
	require.EqualValues(t, 1, m.NotDeterministic)
	require.EqualValues(t, 10, m.Inconclusive, "and the seed that is not deterministic")
	require.EqualValues(t, last-26-10, m.Passed)
	require.Len(t, m.Groups, 2)

	reliable := m.Groups[0]
	require.Equal(t, "Reliable", reliable.Guarantee)
	require.EqualValues(t, 14, reliable.Count)
	require.Equal(t, []uint64{10, 20, 30, 40, 50, 60, 70, 80, 90, 100}, reliable.Lowest)
	require.Equal(t, map[string]uint64{"Converged": 14}, reliable.Also)
	require.Equal(t, "simrun --seed 10 --scenario calm", reliable.Reproduce)
	require.Equal(t, lost("watcher-1", 10).Text, reliable.Example)
	require.Empty(t, reliable.Artifacts, "there are none")

	require.Equal(t, "Completed", m.Groups[1].Guarantee)
	require.Equal(t, "the run ended its process: seed 11: it panicked, with exit status 2: panic: no state", m.Groups[1].Example, "without stacks")
	require.Len(t, m.Reasons, 2)
}

func TestMergeTellsWhatIsMissing(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, header(20, 1, 4), 1, 5, 9, 13, 17)
	write(t, folder, header(20, 2, 4), 10, 2)
	write(t, folder, header(20, 4, 4))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "shard-3-of-4.jsonl"), []byte(`{"format":`), 0o600))

	m, err := campaign.Merge([]string{folder})
	require.NoError(t, err)
	require.False(t, m.Complete())
	require.EqualValues(t, 7, m.Done)
	require.Equal(t, []int{3}, m.MissingShards)
	require.Equal(t, []uint64{3, 4, 6, 7, 8, 11, 12, 14, 15, 16}, m.MissingSeeds)
	report := m.Report()
	require.Contains(t, report, "7 of 20 seeds: 4 passed, 1 failed, 2 inconclusive\n")
	require.Contains(t, report, "missing shards: 3\n")
	require.Contains(t, report, "missing seeds: 3, 4, 6, 7, 8, 11, 12, 14, 15, 16 and 3 more\n")
}

func TestMergeRefusesWhatDoesNotBelongTogether(t *testing.T) {
	folder := divided(t, 2)
	path := func(index int) string { return filepath.Join(folder, header(last, index, 2).FileName()) }
	content, err := os.ReadFile(path(2))
	require.NoError(t, err)
	changed := func(from, to string) []string {
		other := filepath.Join(t.TempDir(), "other.jsonl")
		require.Contains(t, string(content), from)
		require.NoError(t, os.WriteFile(other, []byte(strings.Replace(string(content), from, to, 1)), 0o600))
		return []string{path(1), other}
	}
	for name, row := range map[string]struct {
		paths []string
		says  string
	}{
		"a shard twice":          {[]string{path(1), path(2), path(1)}, "expected the results of shard 1/2 once"},
		"a file and its folder":  {[]string{path(1), folder}, "expected the results of shard 1/2 once"},
		"a copy of a shard":      {append(changed("", ""), path(2)), "expected the results of shard 2/2 once"},
		"another division":       {[]string{folder, divided(t, 3)}, "expected one of 2 shards, found one of 3"},
		"another build":          {changed("b17d", "b18d"), "expected results of build b17d, found b18d"},
		"another range":          {changed(`"last":143`, `"last":144`), "expected seeds 1 to 143, found 1 to 144"},
		"another spec":           {changed(`"members":1`, `"members":3`), `"members":3`},
		"damage":                 {changed(`{"seed":`, `{"sede":`), "expected a seed of shard 2/2 of 1 to 143, found seed 0"},
		"no results":             {[]string{"merge_test.go"}, `expected a first line of JSON`},
		"a folder without any":   {[]string{t.TempDir()}, "expected files such as shard-1-of-1.jsonl"},
		"a path that is not one": {[]string{filepath.Join(folder, "none")}, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := campaign.Merge(row.paths)
			require.ErrorIs(t, err, campaign.ErrResults)
			require.ErrorContains(t, err, row.says)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}
