package simtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestThePageBeginsWithATestThatWorks follows docs/simtest.md: the file at its beginning, in a module of its own, fails because
// of its bug, fails again with the printed command, and passes without the bug.
func TestThePageBeginsWithATestThatWorks(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it builds a test twice")
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "simtest.md"))
	require.NoError(t, err)
	_, file, begins := strings.Cut(string(page), "```go\n")
	file, _, ends := strings.Cut(file, "```\n")
	require.True(t, begins && ends, "expected a file in Go in docs/simtest.md")

	write, run := elsewhere(t)
	write("members_test.go", file)
	out, err := run("-count=1")
	require.Error(t, err, out)
	require.Regexp(t, `expected a and b, found map\[[ab]:joined\]`, out)
	_, again, printed := strings.Cut(out, "Run it again:\n")
	require.True(t, printed, out)
	arguments := strings.Fields(strings.SplitN(strings.TrimSpace(again), "\n", 2)[0])
	require.Equal(t, []string{"go", "test", "-run", "'^TestMembers$'"}, arguments[:4])
	out, err = run("-count=1", "-run=^TestMembers$", arguments[4])
	require.Error(t, err, out)
	require.Regexp(t, `expected a and b, found map\[[ab]:joined\]`, out)

	lines := strings.Split(file, "\n")
	for i, line := range lines {
		if strings.Contains(line, "the mistake") {
			lines[i] = ""
		}
	}
	write("members_test.go", strings.Join(lines, "\n"))
	out, err = run("-count=1", "-simtest.seeds=50")
	require.NoError(t, err, out)
}

// A changed definition invalidates the go command's cached result.
func TestADefinitionThatChangesIsReadAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it builds a test")
	}
	write, run := elsewhere(t)
	definition, err := os.ReadFile(filepath.Join("testdata", "objects", "parts.yaml"))
	require.NoError(t, err)
	write("parts.yaml", string(definition))
	write("parts_test.go", `package mine

import (
	"testing"

	"github.com/watchsim/watchsim/simtest"
)

func TestBoots(t *testing.T) {
	simtest.Seeds(t, simtest.Config{CRDs: []string{"parts.yaml"}}, func(*simtest.T, *simtest.Cluster) {})
}
`)
	out, err := run()
	require.NoError(t, err, out)
	out, err = run()
	require.NoError(t, err, out)
	require.Contains(t, out, "(cached)")
	write("parts.yaml", strings.Replace(string(definition), "served: true", "served: perhaps", 1))
	out, err = run()
	require.Error(t, err, out)
}

// elsewhere returns functions that write a file of a separate module, and run its test with arguments. Files get a
// time an hour ago, as the go command caches no result that depends on a file just written.
func elsewhere(t *testing.T) (write func(name, text string), run func(arguments ...string) (string, error)) {
	t.Helper()
	project, err := filepath.Abs("..")
	require.NoError(t, err)
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	require.NoError(t, err)
	dir, programs := t.TempDir(), t.TempDir()
	write = func(name, text string) {
		t.Helper()
		path, before := filepath.Join(dir, name), time.Now().Add(-time.Hour)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		require.NoError(t, os.Chtimes(path, before, before))
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("..", "examples", "controller", name))
		require.NoError(t, err)
		write(name, strings.ReplaceAll(string(text), "=> ../..", "=> "+project))
	}
	run = func(arguments ...string) (string, error) {
		command := exec.Command("go", append([]string{"test", "."}, arguments...)...)
		command.Dir = dir
		command.Env = append(os.Environ(), "XDG_CACHE_HOME="+programs, "GOCACHE="+strings.TrimSpace(string(cache)), "CGO_ENABLED=0")
		out, err := command.CombinedOutput()
		return string(out), err
	}
	return write, run
}
