package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/sim/overlay"
)

func TestATestIsRedIfItFailsTwiceAndNotWithoutTheEdit(t *testing.T) {
	for _, row := range []struct {
		name    string
		control []string
		runs    [][]string // what is red in each
		red     []string
		asked   [][]string
	}{
		{"nothing fails", nil, [][]string{{}}, nil, [][]string{nil}},
		{"it fails twice", nil, [][]string{{"TestA", "TestB"}, {"TestA", "TestB"}}, []string{"TestA", "TestB"}, [][]string{nil, {"TestA", "TestB"}}},
		{"it fails once", nil, [][]string{{"TestA", "TestB"}, {"TestB"}}, []string{"TestB"}, [][]string{nil, {"TestA", "TestB"}}},
		{"it fails without the edit", []string{"TestA"}, [][]string{{"TestA"}}, nil, [][]string{nil}},
		{"a panic", nil, [][]string{{unnamed}, {unnamed}}, []string{unnamed}, [][]string{nil, nil}},
		{"a panic once", nil, [][]string{{unnamed}, {}}, []string{}, [][]string{nil, nil}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var asked [][]string
			red, _, err := notice(t.Context(), func(_ context.Context, _ string, only []string, _ time.Duration) (suiteRun, error) {
				asked = append(asked, only)
				return suiteRun{red: row.runs[len(asked)-1], took: time.Second}, nil
			}, bug, suiteRun{red: row.control})
			require.NoError(t, err)
			require.Equal(t, row.red, red)
			require.Equal(t, row.asked, asked)
		})
	}
}

func TestEventsOfTestsAreRead(t *testing.T) {
	ran := readEvents([]byte(strings.Join([]string{
		`{"Action":"start"}`,
		`{"Action":"run","Test":"TestA"}`,
		`{"Action":"fail","Test":"TestA/part"}`,
		`{"Action":"fail","Test":"TestA"}`,
		`{"Action":"pass","Test":"TestB"}`,
		`{"Action":"skip","Test":"TestC"}`,
		`{"Action":"output","Test":"TestD","Output":"panic: test timed out after 4m0s\n"}`,
		`{"Action":"output","Test":"TestD","Output":"\trunning tests:\n"}`,
		`{"Action":"output","Test":"TestD","Output":"\t\tTestD/part (3m1s)\n"}`,
		`{"Action":"fail"}`,
	}, "\n")))
	require.Equal(t, []string{"TestA", "TestD"}, ran.red)
	require.Equal(t, 3, ran.ran)
	require.Contains(t, ran.end, "timed out")
}

// TestASuiteIsBuiltAndRunWithEdits builds the tests of a small package of this project
// with an edit inside, off and on.
func TestASuiteIsBuiltAndRunWithEdits(t *testing.T) {
	m := mutant.Mutant{
		Name: "A99", Module: "github.com/watchsim/watchsim", File: "traces/files.go",
		Anchor: "			return other, nil\n", Replacement: "			return path, nil\n",
	}
	tests, err := buildTests(context.Background(), "github.com/watchsim/watchsim/traces", []mutant.Mutant{m})
	require.NoError(t, err)
	t.Cleanup(tests.remove)
	control, err := tests.run(context.Background(), "", nil, time.Minute)
	require.NoError(t, err)
	require.Empty(t, control.red)
	require.Positive(t, control.ran)
	red, _, err := notice(context.Background(), tests.run, m, control)
	require.NoError(t, err)
	require.NotEmpty(t, red)
}

func TestWhatTheTestsOfAnotherModuleNeedIsRequired(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.org/other\n\ngo 1.26\n\nrequire (\n\texample.org/known v1.1.0\n\texample.org/more v1.2.3\n\texample.org/far v1.0.0 // indirect\n)\n"), 0o600))
	ours := filepath.Join(t.TempDir(), "go.mod")
	require.NoError(t, os.WriteFile(ours, []byte("module example.org/ours\n\ngo 1.26\n\nrequire example.org/known v1.5.0\n"), 0o600))
	goMod, err := requiring(ours, dir)
	require.NoError(t, err)
	text := string(goMod)
	require.Contains(t, text, "example.org/more v1.2.3")
	require.NotContains(t, text, "v1.1.0", "what is required already stays as it is")
	require.NotContains(t, text, "example.org/far")
}

func TestAnEditThatDoesNotApplyIsAnError(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.org/ours\n", "go.sum": "", "a.go": "package a\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	_, err := overlayOnly(dir, dir, t.TempDir(), []overlay.Patch{{Module: "example.org/ours", Edit: overlay.Edit{File: "a.go", Anchor: "nowhere", Replacement: "x"}}})
	require.ErrorContains(t, err, "found it 0 times")
}
