package simrun

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// TestNamesCannotTakeOverATerminal gives every command that prints what a history says
// names that would move the cursor, reorder text, forge a line, or fill the screen.
func TestNamesCannotTakeOverATerminal(t *testing.T) {
	example, dir := content(t, exampleHistory), t.TempDir()
	file := func(name string, replace ...string) string {
		path := filepath.Join(dir, name)
		text := strings.NewReplacer(replace...).Replace(example)
		require.NotEqual(t, example, text)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	const hostile = `\u001b[2J\u0007\u0000\u009b31m\u202e\u2066\nPASSED  all of it\r`
	long := strings.Repeat("z", 100_000)
	names := []string{`"name":"a"`, `"name":"a` + hostile + `"`, "reflector", "reflector" + hostile, "apiserver-0", "apiserver" + long,
		`"target":"kubernetes"`, `"target":"` + hostile + `"`}
	passed := file("passed.jsonl", names...)
	failed := file("failed.jsonl", append(names, `"type":"DELETED"`, `"type":"MODIFIED"`)...)
	invalid := file("invalid.jsonl", append(names, `{"kind":"change","data":{"rv":2,`, `{"kind":"change","data":{"rv":0,`)...)
	for name, arguments := range map[string][]string{
		"check":       {"check", passed, failed, invalid},
		"check JSON":  {"check", "--json", passed, failed, invalid},
		"explain":     {"explain", failed},
		"diff":        {"diff", passed, failed},
		"timeline":    {"timeline", failed},
		"import":      {"import", "history", passed},
		"no history":  {"check", invalid},
		"bad imports": {"import", "audit", invalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, stdout, stderr := simrun(t, arguments...)
			require.NotEmpty(t, stdout+stderr)
			for _, r := range stdout + stderr {
				require.True(t, unicode.IsGraphic(r) || r == '\n', "%U in\n%q", r, stdout+stderr)
			}
			require.NotRegexp(t, regexp.MustCompile(`(?m)^PASSED  all`), stdout+stderr)
			require.NotContains(t, stdout+stderr, long[:1000])
			if name == "check" {
				require.Contains(t, stdout, `\u001b[2J\u0007\u0000\u009b31m\u202e\u2066\u000aPASSED`)
				require.Contains(t, strings.Join(strings.Fields(stdout), " "), "...[100009 characters, SHA-256 ")
			}
		})
	}
}

// TestLinksToFoldersAreNotFollowed: links in a folder from somebody else are neither read nor
// replaced.
func TestLinksToFoldersAreNotFollowed(t *testing.T) {
	dir := t.TempDir()
	folder, link, elsewhere := filepath.Join(dir, "folder"), filepath.Join(dir, "link"), filepath.Join(dir, "elsewhere")
	require.NoError(t, os.Mkdir(folder, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "history.jsonl"), []byte(content(t, exampleHistory)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "run.json"), []byte("{}"), 0o600))
	require.NoError(t, os.WriteFile(elsewhere, []byte("kept"), 0o600))
	require.NoError(t, os.Symlink(folder, link))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(folder, "timeline.html")))
	for _, arguments := range [][]string{{"check", link}, {"explain", link}, {"timeline", link}, {"diff", link, folder}, {"replay", link}, {"shrink", link}} {
		refused(t, "links are not followed: expected the folder of a run, found that "+link+" is a symbolic link", arguments...)
	}
	code, _, stderr := simrun(t, "timeline", folder)
	require.Zero(t, code, stderr)
	require.Equal(t, "kept", content(t, elsewhere))
}
