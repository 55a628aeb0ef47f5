package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// asPod makes the test binary behave as a container whose command does what
// the variable's value says.
const asPod = "WATCHSIM_TEST_AS_POD"

func TestMain(m *testing.M) {
	if os.Getenv(asPod) != "" {
		os.Exit(pod(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// pod notes that it was started, and exits with the code that the variable
// lists for its index: one digit for each start, the last for all later ones.
func pod(arguments []string) int {
	if arguments[0] == "merge" {
		fmt.Println("merged", arguments[1])
		return 3
	}
	out := ""
	for _, argument := range arguments {
		if value, found := strings.CutPrefix(argument, "--out="); found {
			out = value
		}
	}
	path := filepath.Join(out, "starts-"+os.Getenv("JOB_COMPLETION_INDEX"))
	earlier, _ := os.ReadFile(path)
	if err := os.WriteFile(path, append(earlier, []byte(strings.Join(arguments, " ")+"\n")...), 0o600); err != nil {
		return 9
	}
	var index int
	fmt.Sscan(os.Getenv("JOB_COMPLETION_INDEX"), &index)
	codes := strings.Split(os.Getenv(asPod), ",")[index]
	return int(codes[min(bytes.Count(earlier, []byte("\n")), len(codes)-1)] - '0')
}

func TestPodsAreStartedAsTheManifestSays(t *testing.T) {
	itself, err := os.Executable()
	require.NoError(t, err)
	// The pods of index 0 succeed, those of 1 find failures, those of 2 are cut
	// short twice, and those of 3 never come to an end.
	t.Setenv(asPod, "0,1,330,2")
	results := t.TempDir()
	var stdout, stderr bytes.Buffer
	code := run([]string{"-manifest", manifest, "-simrun", itself, "-results", results, "-completions", "4", "--", "--seeds=1-8"}, &stdout, &stderr)
	require.Equal(t, 3, code, "that of merge: %s", stderr.String())
	require.Contains(t, stdout.String(), "merged "+results)
	for index, row := range []struct {
		starts int
		says   string
	}{
		{1, "index 0: succeeded\n"},
		{1, "index 1: exit code 1: failed\n"},
		{3, "index 2: succeeded\n"},
		{4, "index 3: exit code 2: failed, having been started 4 times\n"},
	} {
		require.Contains(t, stdout.String(), row.says)
		starts, err := os.ReadFile(filepath.Join(results, fmt.Sprintf("starts-%d", index)))
		require.NoError(t, err)
		line := fmt.Sprintf("campaign --seeds=1-1000000 --shards=16 --scenario=minute --out=%s --workers=2 --shards=4 --seeds=1-8\n", results)
		require.Equal(t, strings.Repeat(line, row.starts), string(starts))
	}
}

func TestDryRunSaysWhatItCannotDo(t *testing.T) {
	for name, row := range map[string]struct {
		arguments []string
		says      string
	}{
		"no manifest": {[]string{"-manifest", "none.yaml"}, "none.yaml: no such file"},
		"no binary":   {[]string{"-manifest", manifest, "-simrun", "./none", "-results", t.TempDir(), "-completions", "1"}, "run `make build`"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, exitUsage, run(row.arguments, &stdout, &stderr))
			require.Contains(t, stderr.String(), row.says)
		})
	}
}
