package simrun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The folder of a run of tests suffices to replay its failure and to explain it.
func TestTheFolderOfATestedRun(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	out := t.TempDir()
	simrunExits(t, exitFailed, "--target", "http", "--mutant", "canary", "--faults", "none", "--seeds", "1-20", "--out", out)
	folder := filepath.Join(out, "http-clients-1-20")
	failure, err := readFailure(folder)
	require.NoError(t, err)

	said := simrunExits(t, exitFailed, "replay", folder)
	require.Contains(t, said, "the hash agrees: "+failure.ShownHash)
	said = simrunExits(t, exitFailed, "explain", folder)
	require.Contains(t, said, " never received ")
	require.Contains(t, said, "step by step:")

	report := filepath.Join(folder, reportFile)
	other := strings.ReplaceAll(content(t, report), failure.ShownHash, "0123456789abcdef")
	require.NoError(t, os.WriteFile(report, []byte(other), 0o644))
	said = simrunExits(t, exitInconclusive, "replay", folder)
	require.Contains(t, said, "expected the hash 0123456789abcdef, found "+failure.ShownHash)
}

// What cannot be replayed or explained is reported in a sentence.
func TestWrongUseOfTheFolderOfATestedRun(t *testing.T) {
	for name, row := range map[string]struct {
		asked, report, arguments string
		code                     int
		want                     string
	}{
		"seeds that have passed":      {`{"target":"http","scenario":"clients","seeds":"1-3"}`, `{}`, "replay", exitUsage, "expected a run that has failed, found seeds 1-3, which have passed"},
		"nothing to explain":          {`{"target":"http","scenario":"clients","seeds":"1-3"}`, `{}`, "explain", exitPassed, "seeds 1-3 of http clients have passed"},
		"no report":                   {`{"target":"http","scenario":"clients","seeds":"1-3"}`, "", "replay", exitUsage, "expected the report of a run that came to its end, found none"},
		"not JSON":                    {`{"target"`, `{}`, "replay", exitUsage, "expected what was asked of tests in tested.json"},
		"another target":              {`{"target":"mars","scenario":"clients"}`, `{"failure":{}}`, "replay", exitUsage, `expected a target of tests in tested.json, found "mars"`},
		"another scenario":            {`{"target":"http","scenario":"mars"}`, `{"failure":{}}`, "replay", exitUsage, `unknown scenario "mars"`},
		"a flag":                      {`{"target":"http","scenario":"clients"}`, `{"failure":{}}`, "replay --trace", exitUsage, "--trace: expected no flags with the folder of a run of target http"},
		"an explanation for programs": {`{"target":"http","scenario":"clients"}`, `{"failure":{}}`, "explain --json", exitUsage, "give one of its histories"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(folder, testedFile), []byte(row.asked), 0o644))
			if row.report != "" {
				require.NoError(t, os.WriteFile(filepath.Join(folder, reportFile), []byte(row.report), 0o644))
			}
			code, said, notes := simrun(t, append(strings.Fields(row.arguments), folder)...)
			require.Equal(t, row.code, code, said+notes)
			require.Contains(t, said+notes, row.want)
		})
	}
}
