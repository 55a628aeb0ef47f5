package overlay

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// editedModule is one that mutants edit.
const editedModule = "go.etcd.io/etcd/server/v3"

// The first build on a machine begins with an empty module cache.
func TestModulesAreDownloadedIfNeeded(t *testing.T) {
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	full := strings.TrimSpace(string(out))
	_, err = ModuleDir(Project{Dir: "../.."}, editedModule)
	require.NoError(t, err)

	empty := t.TempDir()
	t.Setenv("GOMODCACHE", empty)
	t.Setenv("GOFLAGS", "-modcacherw") // else the folder could not be removed
	t.Setenv("GOPROXY", "file://"+filepath.Join(full, "cache", "download"))
	dir, err := ModuleDir(Project{Dir: "../.."}, editedModule)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(dir, empty), dir)
	require.FileExists(t, filepath.Join(dir, "main.go"))

	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOPROXY", "off")
	_, err = ModuleDir(Project{Dir: "../.."}, editedModule)
	require.ErrorContains(t, err, "run `go mod download`")
}

// A project that is edited itself is built with its edits, and where it is: the go command takes no link for the module that it builds.
func TestAProjectIsEditedWhereItIs(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, text := range map[string]string{"go.mod": "module example.com/p\n\ngo 1.26\n", "p.go": "package main\n\nfunc main() { print(\"before\") }\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	toolchain, err := Installed()
	require.NoError(t, err)
	made, err := Write(toolchain, Project{Dir: dir}, t.TempDir(), Patch{Module: "example.com/p", Edit: Edit{File: "p.go", Anchor: "before", Replacement: "after"}})
	require.NoError(t, err)
	require.Empty(t, made.ModFile)
	list, err := os.ReadFile(made.Overlay)
	require.NoError(t, err)
	require.Contains(t, string(list), `"`+filepath.Join(dir, "p.go")+`"`)
}
