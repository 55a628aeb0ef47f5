package scenario

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// Build describes what a binary was built from, as far as the binary records it.
type Build struct {
	// Go is the Go release that built it.
	Go string `json:"go"`
	// Revision is the commit; Modified says whether the tree had uncommitted changes.
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	// Modules are the versions of the modules under test.
	Modules map[string]string `json:"modules,omitempty"`
}

// modulesUnderTest lists the modules whose behaviour runs test.
var modulesUnderTest = []string{
	"k8s.io/apiserver", "k8s.io/client-go", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/client/v3", "go.etcd.io/raft/v3",
	"go.etcd.io/etcd/raft/v3", // up to etcd 3.5
}

// folders are the modules that were built from local folders, each with a hash of its source, as
// module=hash,module=hash. The linker sets it.
var folders string

// FoldersVariable is its name for the linker.
const FoldersVariable = "github.com/watchsim/watchsim/cluster/scenario.folders"

// CurrentBuild describes this binary.
func CurrentBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Build{Go: runtime.Version()}
	}
	b := described(info)
	for folder := range strings.SplitSeq(folders, ",") {
		if module, hash, found := strings.Cut(folder, "="); found {
			b.Modules[module] = "source " + hash
		}
	}
	return b
}

// BuildOf describes another binary, as far as its build information can be read.
func BuildOf(binary string) Build {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return Build{}
	}
	return described(info)
}

func described(info *debug.BuildInfo) Build {
	b := Build{Go: info.GoVersion, Modules: map[string]string{}}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Revision = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	for _, module := range info.Deps {
		if slices.Contains(modulesUnderTest, module.Path) {
			b.Modules[module.Path] = version(module)
		}
	}
	return b
}

// version returns the version of the code that was built, which may differ from the
// required one: a replace directive can name another release or a link to its folder.
func version(module *debug.Module) string {
	switch instead := module.Replace; {
	case instead == nil:
		return module.Version
	case instead.Version != "":
		return instead.Version
	default:
		folder, err := os.Readlink(instead.Path)
		if _, linked, found := strings.Cut(filepath.Base(folder), "@"); err == nil && found {
			return linked
		}
		return module.Version
	}
}

// Differences describes each difference between two builds in a few words.
func (b Build) Differences(other Build) []string {
	var different []string
	add := func(what, one, two string) {
		if one != two && one != "" && two != "" {
			different = append(different, what+" "+one+" then, "+two+" now")
		}
	}
	add("Go", b.Go, other.Go)
	add("revision", b.Revision, other.Revision)
	if b.Modified || other.Modified {
		different = append(different, "changes that are not committed")
	}
	for _, module := range modulesUnderTest {
		add(module, b.Modules[module], other.Modules[module])
	}
	return different
}
