package simrun

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/campaign"
)

// campaignExits runs a campaign in a folder, which must exit with the code.
func campaignExits(t *testing.T, want int, dir string, arguments ...string) (stdout, stderr string) {
	t.Helper()
	c, out, notes := campaignIn(t, dir, arguments...)
	require.Equal(t, want, exitCode(t, c.Run()), notes)
	return out.String(), notes.String()
}

// campaignIn is `simrun campaign`, ready to start in a folder. Results go to the folder out in it.
func campaignIn(t *testing.T, dir string, arguments ...string) (c *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	c, stdout, stderr = command(t, append([]string{"campaign"}, arguments...)...)
	c.Dir = dir
	return c, stdout, stderr
}

// wall matches the fields that differ between two runs of a seed.
var wall = regexp.MustCompile(`"(wall|check)_seconds":[0-9.e+-]+`)

// mergedIn merges the results in a folder: the summary as JSON, the results in one file without
// real times, and the exit code.
func mergedIn(t *testing.T, dir string) (code int, summary, results string) {
	t.Helper()
	c, stdout, notes := command(t, "merge", "out", "--json", "-o", "merged.jsonl")
	c.Dir = dir
	code = exitCode(t, c.Run())
	require.FileExists(t, filepath.Join(dir, "merged.jsonl"), notes)
	results = wall.ReplaceAllString(content(t, dir, "merged.jsonl"), `"${1}_seconds":0`)
	require.NoError(t, os.Remove(filepath.Join(dir, "merged.jsonl")))
	return code, stdout.String(), results
}

// forgetfulCampaign has failing and inconclusive seeds.
var forgetfulCampaign = strings.Fields("--seeds 1-12 --scenario calm --target forgetful --operations 40 --keep 1")

func TestKilledShardGoesOnAndNothingShows(t *testing.T) {
	undisturbed, divided := t.TempDir(), t.TempDir()
	campaignExits(t, exitFailed, undisturbed, forgetfulCampaign...)

	first := append(forgetfulCampaign, "--shard", "1/2", "--workers", "1", "--json")
	killInTheMiddle(t, divided, first)
	results := filepath.Join(divided, "out", campaign.Shard{Index: 1, Count: 2}.FileName())
	left := content(t, results)
	require.NoError(t, os.Truncate(results, int64(len(left)-10)), "as if the kill had come in the middle of a line")
	whole := strings.Count(left[:len(left)-10], "\n") - 1 // but for the header
	require.Positive(t, whole)

	stdout, notes := campaignExits(t, exitFailed, divided, first...)
	require.Contains(t, notes, "6 seeds, "+strconv.Itoa(whole)+" of them done already")
	require.Equal(t, 6-whole, strings.Count(stdout, `"hash"`), "what was done is not done again")

	// The second shard is that of a pod.
	t.Setenv(campaign.CompletionIndexVariable, "1")
	refused(t, "expected their number in --shards", "campaign", "--seeds", "1-12")
	campaignExits(t, exitFailed, divided, append(forgetfulCampaign, "--shards", "2")...)

	code, summary, lines := mergedIn(t, divided)
	require.Equal(t, exitFailed, code)
	wantCode, wantSummary, wantLines := mergedIn(t, undisturbed)
	require.Equal(t, wantCode, code)
	require.Equal(t, wantSummary, summary)
	require.Equal(t, wantLines, lines)
	require.Equal(t, 13, strings.Count(lines, "\n"), "a header and 12 seeds")
	require.Contains(t, summary, `"seeds":12,"done":12,`)
	require.Contains(t, summary, `"reproduce":"simrun --seed `)
	require.Contains(t, summary, ` --target forgetful --scenario calm --operations 40"`)
}

// killInTheMiddle kills a campaign that has some results, but not all.
func killInTheMiddle(t *testing.T, dir string, arguments []string) {
	t.Helper()
	c, _, notes := campaignIn(t, dir, arguments...)
	c.Stdout = nil
	stdout, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	line := make([]byte, 1)
	for range 2 { // results
		for line[0] != '\n' {
			_, err := io.ReadFull(stdout, line)
			require.NoError(t, err, notes)
		}
		line[0] = 0
	}
	require.NoError(t, c.Process.Kill())
	_ = c.Wait()
	require.False(t, c.ProcessState.Exited(), "it was to be killed before it was done")
}

// A folder of results belongs to one campaign.
func TestCampaignRefusesResultsOfAnother(t *testing.T) {
	dir, shard := t.TempDir(), strings.Fields("--seeds 1-2 --shard 1/2 --scenario calm")
	campaignExits(t, exitPassed, dir, shard...)
	for says, arguments := range map[string]string{
		"expected seeds 1 to 4, found 1 to 2":      "--seeds 1-4 --shard 1/2 --scenario calm",
		"expected scenario any, found calm":        "--seeds 1-2 --shard 1/2",
		`"operations":100`:                         "--seeds 1-2 --shard 1/2 --scenario calm --operations 100",
		"expected target kubernetes, found cacher": "--seeds 1-2 --shard 1/2 --scenario calm --target kubernetes",
	} {
		c, stdout, stderr := campaignIn(t, dir, strings.Fields(arguments)...)
		requireRefused(t, says, exitCode(t, c.Run()), stdout.String(), stderr.String())
	}

	// Completed seeds are not repeated, and the other shard is missing.
	_, notes := campaignExits(t, exitPassed, dir, shard...)
	require.Contains(t, notes, "1 seed, 1 of them done already")
	stdout := simrunExits(t, exitInconclusive, "merge", filepath.Join(dir, "out"))
	require.Contains(t, stdout, "1 of 2 seeds: 1 passed, 0 failed, 0 inconclusive")
	require.Contains(t, stdout, "missing shards: 2\nmissing seeds: 2\n")

	// A file is never overwritten.
	refused(t, "file exists", "merge", filepath.Join(dir, "out"), "--out", filepath.Join(dir, "out", "shard-1-of-2.jsonl"))
}
