package overlay

import (
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
