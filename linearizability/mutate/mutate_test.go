package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/watchsim/watchsim/linearizability"
)

func TestEachRuleHasAMutant(t *testing.T) {
	var names []string
	for _, g := range linearizability.Guarantees {
		names = append(names, g.Name)
	}
	count := map[string]int{}
	for _, m := range mutants {
		require.Contains(t, names, m.guarantee)
		require.LessOrEqual(t, len(m.breaks), 66, "the table would not line up: %s", m.breaks)
		count[m.guarantee]++
	}
	for _, name := range names {
		require.NotZero(t, count[name], "%s has no mutant", name)
	}
	for _, subtle := range []string{"Linearizable", "Reliable", "Bookmarked", "Expired", "Closed", "Resumable", "Monotonic"} {
		require.GreaterOrEqual(t, count[subtle], 3, subtle)
	}
}

// TestMutantsStillFit fails if code that a mutant edits has changed.
func TestMutantsStillFit(t *testing.T) {
	tried := map[string]bool{}
	for _, m := range mutants {
		file, edited, err := m.apply("..")
		require.NoError(t, err)
		require.False(t, tried[edited], "two mutants are the same: %s", m.breaks)
		tried[edited] = true
		source, err := os.ReadFile(filepath.Join("..", file))
		require.NoError(t, err)
		require.NotEqual(t, string(source), edited, m.breaks)
	}
}

func TestAMutantNeedsOneAnchor(t *testing.T) {
	anchor := "func judgeRevisions(f *facts, out *findings) {\n"
	for _, row := range []struct{ name, anchor, replacement, message string }{
		{"nowhere", "no such code", "", "expected its anchor once in the files of the oracle, found it 0 times; the anchor is\nno such code"},
		{"in many files", "package linearizability\n", "", "expected its anchor once in the files of the oracle, found it"},
		{"twice in a file", "out.violate(Revision, revision", "", "found it 2 times"},
		{"edit does not parse", anchor, "}", "is not valid Go"},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := mutant{guarantee: "Revision", anchor: row.anchor, replacement: row.replacement}
			_, _, err := m.apply("..")
			require.ErrorContains(t, err, row.message)
		})
	}
}

func TestOnlyAFailureOfTheTestItselfIsRed(t *testing.T) {
	failed := exec.Command("false").Run()
	for _, row := range []struct {
		name, out string
		err       error
		red, why  string
	}{
		{"a row", "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/a_row (0.00s)\n    --- FAIL: TestA/another (0.00s)\nFAIL\n", failed, "TestA/a_row", ""},
		{"a test without rows", "--- FAIL: TestA (0.00s)\nFAIL\n", failed, "TestA", ""},
		{"green", "--- PASS: TestA (0.00s)\nPASS\n", nil, "", "TestA stayed green"},
		{"no such test", "testing: warning: no tests to run\nPASS\n", nil, "", "there is no test TestA"},
		{"a panic", "--- FAIL: TestA (0.00s)\npanic: index out of range [recovered]\n\ngoroutine 7\n", failed, "", "TestA panicked: index out of range [recovered]"},
		{"no end", "panic: test timed out after 1m0s\n", failed, "", "TestA panicked: test timed out after 1m0s"},
		{"an edit that does not compile", "revision.go:17: undefined: lost\nFAIL\tlinearizability [build failed]\n", failed, "",
			"it does not compile: revision.go:17: undefined: lost\nFAIL\tlinearizability [build failed]"},
		{"a crash", "signal\n", failed, "", "TestA ended with exit status 1"},
		{"no start", "", os.ErrNotExist, "", "file does not exist"},
	} {
		t.Run(row.name, func(t *testing.T) {
			result := judge("TestA", row.out, row.err)
			require.Equal(t, row.red, result.red)
			require.Equal(t, row.why, result.why)
		})
	}
}

func TestWhatCannotBeTriedIsSaid(t *testing.T) {
	for _, row := range []struct {
		args    []string
		message string
	}{
		{[]string{"--only", "Tidy"}, `mutate: expected the name of a guarantee that has mutants, found "Tidy"`},
		{[]string{"--parallel", "0"}, "mutate: expected at least 1 mutant at a time, found 0"},
		{[]string{"Closed"}, `mutate: expected flags only, found "Closed"`},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, notTried, run(t.Context(), row.args, &stdout, &stderr))
		require.Equal(t, row.message+"\n", stderr.String())
	}
}

// TestAMutantThatStaysGreenIsReported breaks one rule, breaks nothing, and breaks
// the build.
func TestAMutantThatStaysGreenIsReported(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the oracle's tests five times")
	}
	edit := func(replacement string) mutant {
		return mutant{"Revision", "one of three", "TestRevision", "if !change.Follows(last) {", replacement}
	}
	var stdout bytes.Buffer
	green, err := tryAll(t.Context(), []mutant{
		edit("if change.RV < last.RV {"), edit("if false == change.Follows(last) {"), edit("if !change.Follows(lost) {"),
	}, 2, &stdout)
	require.NoError(t, err)
	require.Equal(t, 2, green)
	require.Regexp(t, `(?s)s  TestRevision/a_deletion_at_the_revision_of_a_lease\n.*NONE: TestRevision stayed green\n.*NONE: it does not compile: .*undefined: lost`, stdout.String())
	require.Contains(t, stdout.String(), "\n1 of 3 mutants of 1 rules turned their test red, in ")

	missing := edit("if change.RV < last {")
	missing.test = "TestNothing"
	_, err = tryAll(t.Context(), []mutant{missing}, 1, &stdout)
	require.EqualError(t, err, "there is no test TestNothing in ./linearizability")
}
