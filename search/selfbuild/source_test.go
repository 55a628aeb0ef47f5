package selfbuild

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/watchsim/watchsim/cluster/target"
)

// published makes a module proxy of this commit, including nested modules, makes the go command use
// it, and returns the version.
func published(t *testing.T) (version string) {
	t.Helper()
	source, err := Source()
	require.NoError(t, err)
	out, err := exec.Command("git", "-C", source, "log", "-1", "--format=%H %cd", "--date=format-local:%Y%m%d%H%M%S").Output()
	require.NoError(t, err)
	commit := strings.Fields(string(out))
	version = "v0.0.0-" + commit[1] + "-" + commit[0][:12]
	proxy := t.TempDir()
	folders := []string{""}
	for _, release := range target.Releases() {
		inside, err := filepath.Rel(source, release.Dir(source))
		require.NoError(t, err)
		folders = append(folders, inside)
	}
	for _, folder := range folders {
		path := filepath.Join(project, folder)
		dir := filepath.Join(proxy, path, "@v", version)
		require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
		packed, err := os.Create(dir + ".zip")
		require.NoError(t, err)
		require.NoError(t, zip.CreateFromVCS(packed, module.Version{Path: path, Version: version}, source, "HEAD", folder))
		require.NoError(t, packed.Close())
		goMod, err := os.ReadFile(filepath.Join(source, folder, "go.mod"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(dir+".mod", goMod, 0o600))
		require.NoError(t, os.WriteFile(dir+".info", fmt.Appendf(nil, `{"Version":%q}`, version), 0o600))
	}
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	t.Setenv("GOPROXY", "file://"+proxy+",file://"+strings.TrimSpace(string(cache))+"/cache/download")
	t.Setenv("GONOSUMDB", project)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return version
}

// A binary built by `go install` finds its source, and nested modules, by their version; the second
// time it needs no proxy.
func TestAnInstalledVersionGetsItsSource(t *testing.T) {
	version := published(t)
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-modcacherw")
	for range 2 {
		source, err := installedSource(version)
		require.NoError(t, err)
		require.FileExists(t, filepath.Join(source, "cmd/simrun/main.go"))
		for _, release := range target.Releases() {
			dir, err := releaseDir(source, release)
			require.NoError(t, err)
			require.FileExists(t, filepath.Join(dir, target.ReleaseWorker, "main.go"))
		}
		t.Setenv("GOPROXY", "off")
	}
	_, err := installedSource("v0.0.1")
	require.ErrorIs(t, err, ErrNoSource)
	require.ErrorContains(t, err, "clone the repository")
	require.NotContains(t, err.Error(), "\n")
}

// The packages that a build compiles are separated from its errors.
func TestABuildTellsPackagesFromErrors(t *testing.T) {
	var packages []string
	said := &listener{progress: func(pkg string) { packages = append(packages, pkg) }}
	for _, text := range []string{"internal/", "abi\nexample.com/a\n# example.com/b\n", "b.go:3:1: undefined: c\n"} {
		_, err := said.Write([]byte(text))
		require.NoError(t, err)
	}
	require.Equal(t, []string{"internal/abi", "example.com/a"}, packages)
	require.Equal(t, "# example.com/b\nb.go:3:1: undefined: c\n", said.errors.String())
}
