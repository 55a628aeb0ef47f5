package simtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestThePageBeginsWithATestThatWorks does what a reader of docs/simtest.md does: the file that the page begins with, in a
// module of its own, fails for the mistake that is in it, again with the line that is printed, and without the mistake it passes.
func TestThePageBeginsWithATestThatWorks(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it builds a test twice")
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "simtest.md"))
	require.NoError(t, err)
	_, file, begins := strings.Cut(string(page), "```go\n")
	file, _, ends := strings.Cut(file, "```\n")
	require.True(t, begins && ends, "expected a file in Go in docs/simtest.md")

	project, err := filepath.Abs("..")
	require.NoError(t, err)
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	require.NoError(t, err)
	dir := t.TempDir()
	module, err := os.ReadFile(filepath.Join("..", "examples", "controller", "go.mod"))
	require.NoError(t, err)
	sums, err := os.ReadFile(filepath.Join("..", "examples", "controller", "go.sum"))
	require.NoError(t, err)
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("go.mod", strings.ReplaceAll(string(module), "=> ../..", "=> "+project))
	write("go.sum", string(sums))
	run := func(arguments ...string) (string, error) {
		command := exec.Command("go", append([]string{"test", "-count=1", "."}, arguments...)...)
		command.Dir = dir
		command.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "GOCACHE="+strings.TrimSpace(string(cache)), "CGO_ENABLED=0")
		out, err := command.CombinedOutput()
		return string(out), err
	}

	write("members_test.go", file)
	out, err := run()
	require.Error(t, err, out)
	require.Regexp(t, `expected a and b, found map\[[ab]:joined\]`, out)
	_, again, printed := strings.Cut(out, "Run it again:\n")
	require.True(t, printed, out)
	arguments := strings.Fields(strings.SplitN(strings.TrimSpace(again), "\n", 2)[0])
	require.Equal(t, []string{"go", "test", "-run", "'^TestMembers$'"}, arguments[:4])
	out, err = run("-run=^TestMembers$", arguments[4])
	require.Error(t, err, out)
	require.Regexp(t, `expected a and b, found map\[[ab]:joined\]`, out)

	lines := strings.Split(file, "\n")
	for i, line := range lines {
		if strings.Contains(line, "the mistake") {
			lines[i] = ""
		}
	}
	write("members_test.go", strings.Join(lines, "\n"))
	out, err = run("-simtest.seeds=50")
	require.NoError(t, err, out)
}
