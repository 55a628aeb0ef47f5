package selfbuild

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"

	"github.com/watchsim/watchsim/sim/overlay"
)

// checkout makes a folder for each module with a go.mod, and returns the one above them.
func checkout(t *testing.T, goMods map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for folder, text := range goMods {
		require.NoError(t, os.MkdirAll(filepath.Join(root, folder), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, folder, "go.mod"), []byte(text), 0o600))
	}
	return root
}

func TestAUseIsAModuleAndAVersionOrFolder(t *testing.T) {
	root := checkout(t, map[string]string{"server": "module go.etcd.io/etcd/server/v3\n", "other": "module example.com/other\n", "a,b": "module go.etcd.io/etcd/server/v3\n"})
	require.NoError(t, os.Mkdir(filepath.Join(root, "empty"), 0o755))
	const server = "go.etcd.io/etcd/server/v3="
	for _, text := range []string{server + "v3.7.3", server + "v3.8.0-alpha.0", server + filepath.Join(root, "server")} {
		uses, err := SplitUses(text)
		require.NoError(t, err)
		require.Equal(t, text, uses.String())
	}
	for text, complaint := range map[string]string{
		"go.etcd.io/etcd/server/v3":           "expected a module and a version or folder",
		"=v3.7.3":                             "expected a module and a version or folder",
		server:                                "expected a module and a version or folder",
		server + "v3.7":                       "expected a version of go.etcd.io/etcd/server/v3 in full",
		server + "v2.7.3":                     "expected a version of go.etcd.io/etcd/server/v3 in full",
		server + filepath.Join(root, "none"):  "found neither at",
		server + filepath.Join(root, "empty"): "found none",
		server + filepath.Join(root, "other"): "found example.com/other",
		server + filepath.Join(root, "a,b"):   "without a comma",
	} {
		_, err := ParseUses(text)
		require.ErrorContains(t, err, complaint, text)
	}
	_, err := ParseUses(server+"v3.7.3", server+"v3.7.2")
	require.ErrorContains(t, err, "expected one version or folder")
}

const someGoMod = `module github.com/watchsim/watchsim

require (
	go.etcd.io/etcd/api/v3 v3.7.0
	go.etcd.io/etcd/client/v3 v3.7.0
	go.etcd.io/etcd/server/v3 v3.7.0
	go.etcd.io/raft/v3 v3.7.0
	k8s.io/apimachinery v0.37.2
	k8s.io/apiserver v0.37.2
	k8s.io/klog/v2 v2.140.0
)

replace go.etcd.io/etcd/client/v3 => go.etcd.io/etcd/client/v3 v3.6.0
`

// The modules of one release are those with the same version in a go.mod, including replaced ones,
// and none of another repository.
func TestSiblingsHaveTheSameVersion(t *testing.T) {
	file, err := modfile.Parse("go.mod", []byte(someGoMod), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"go.etcd.io/etcd/api/v3"}, siblings(file, "go.etcd.io/etcd/server/v3"))
	require.Equal(t, []string{"k8s.io/apimachinery"}, siblings(file, "k8s.io/apiserver"))
	require.Empty(t, siblings(file, "go.etcd.io/raft/v3"))
}

// A folder of a checkout brings the modules beside it, and those that its go.mod takes from other
// folders; a second --use takes precedence.
func TestAFolderBringsWhatLiesBesideIt(t *testing.T) {
	root := checkout(t, map[string]string{
		"server": "module go.etcd.io/etcd/server/v3\n\ngo 1.20\n\nreplace go.etcd.io/raft/v3 => ../own/raft\n",
		"api":    "module go.etcd.io/etcd/api/v3\n", "own/raft": "module go.etcd.io/raft/v3\n",
	})
	file, err := modfile.Parse("go.mod", []byte(someGoMod), nil)
	require.NoError(t, err)
	uses, err := ParseUses("go.etcd.io/etcd/server/v3=" + filepath.Join(root, "server"))
	require.NoError(t, err)
	replaced, err := uses.replacements(overlay.Toolchain{Version: "go1.26.8"}, file)
	require.NoError(t, err)
	folders := map[string]string{}
	for path, instead := range replaced {
		folders[path] = instead.Path
	}
	require.Equal(t, map[string]string{
		"go.etcd.io/etcd/server/v3": filepath.Join(root, "server"),
		"go.etcd.io/etcd/api/v3":    filepath.Join(root, "api"),
		"go.etcd.io/raft/v3":        filepath.Join(root, "own/raft"),
	}, folders)
}

func TestCodeForAnotherGoOrProjectIsRefused(t *testing.T) {
	root := checkout(t, map[string]string{"server": "module go.etcd.io/etcd/server/v3\n\ngo 1.27.0\n", "x": "module example.com/x\n"})
	file, err := modfile.Parse("go.mod", []byte(someGoMod), nil)
	require.NoError(t, err)
	for text, complaint := range map[string]string{
		"go.etcd.io/etcd/server/v3=" + filepath.Join(root, "server"): "which needs go1.27.0",
		"example.com/x=" + filepath.Join(root, "x"):                  "expected a module that simrun is built from",
	} {
		uses, err := ParseUses(text)
		require.NoError(t, err)
		_, err = uses.replacements(overlay.Toolchain{Version: "go1.26.8"}, file)
		require.ErrorContains(t, err, complaint)
	}
}

// A changed or renamed file changes the hash.
func TestTheHashOfASourceIsThatOfItsFiles(t *testing.T) {
	root := checkout(t, map[string]string{"a": "module a\n", "b": "module a\n", "c": "module c\n"})
	hash := func(folder string) string {
		found, err := sourceHash(filepath.Join(root, folder))
		require.NoError(t, err)
		return found
	}
	require.Equal(t, hash("a"), hash("b"))
	require.NotEqual(t, hash("a"), hash("c"))
	require.NoError(t, os.Rename(filepath.Join(root, "b/go.mod"), filepath.Join(root, "b/go.sum")))
	require.NotEqual(t, hash("a"), hash("b"))
}
