package watchsim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/watchsim/watchsim"

// maxFolders is how many folders may hold Go files.
const maxFolders = 50

// layers are the folders of the project from the ground up. A package imports
// packages of its own layer and of those below, never of one above.
var layers = [][]string{
	{"/model"},
	{"/linearizability", "/traces", "/faults", "/cacher"},
	{"/sim"},
	{"/cluster"},
	{"/search", "/simtest"},
	{"/simrun"},
	{"/cmd", "/deploy"},
}

// mayNotImport says which packages must not know which, beyond the layers:
// prefixes of import paths, below the module where they begin with a slash.
// ARCHITECTURE.md says why.
var mayNotImport = []struct {
	who          string
	what, except []string
}{
	{who: "/model", what: []string{module, "k8s.io/", "go.etcd.io/"}},
	{who: "/linearizability", what: []string{"k8s.io/", "/faults", "/traces", "/cacher"}},
	// recorder reads from real API servers as controllers do, with client-go.
	{who: "/traces", what: []string{"k8s.io/"}, except: []string{"/traces/recorder"}},
	{who: "/traces/importer", what: []string{"/traces/recorder"}},
	{who: "/traces", what: []string{"/faults"}},
	{who: "/traces", what: []string{"/linearizability"}, except: []string{"/traces/judge", "/traces/timeline"}},
	{who: "/faults", what: []string{"k8s.io/", "/linearizability", "/traces"}},
	{who: "/cacher", what: []string{"/model", "/faults", "/traces", "/linearizability"}},
	// The world is for any Go code.
	{who: "/sim", what: []string{"k8s.io/", "go.etcd.io/", "/model", "/linearizability", "/traces", "/faults", "/cacher"}},
	{who: "/cluster", what: []string{"k8s.io/"}, except: []string{"/cluster/target/apiserver", "/cluster/target/httpserver", "/cluster/target/kubernetes", "/cluster/target/cacher"}},
	{who: "/cluster", what: []string{"/cluster/target/apiserver"}, except: []string{"/cluster/target"}},
	{who: "/cluster", what: []string{"/cluster/target/kubernetes"}, except: []string{"/cluster/target/kubernetes"}},
	{who: "/cluster", what: []string{"/cluster/target/cacher", "/cacher"}, except: []string{"/cluster/target/cacher"}},
	{who: "/simtest", what: []string{"/search"}},
	{who: "/search", what: []string{"k8s.io/", "/cluster/target/apiserver", "/cluster/target/cacher", "/cluster/target/kubernetes", "/cacher"}},
}

// below reports whether an import path is that of a prefix or lies below it.
func below(path, prefix string) bool {
	if strings.HasPrefix(prefix, "/") {
		prefix = module + prefix
		return path == prefix || strings.HasPrefix(path, prefix+"/")
	}
	return strings.HasPrefix(path, prefix)
}

// belowAny reports whether that is true of one of the prefixes.
func belowAny(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return below(path, prefix) })
}

// layer is the number of the layer that a package stands on, from 0; and
// whether it stands on any.
func layer(path string) (int, bool) {
	level := slices.IndexFunc(layers, func(folders []string) bool { return belowAny(path, folders) })
	return level, level >= 0
}

// upward reports whether a package imports one of a layer above its own.
func upward(importer, imported string) bool {
	from, stands := layer(importer)
	to, known := layer(imported)
	return stands && known && to > from
}

// forbidden reports whether a rule keeps one package from importing another.
func forbidden(importer, imported string) bool {
	if importer == imported {
		return false // an external test package
	}
	for _, rule := range mayNotImport {
		if below(importer, rule.who) && belowAny(imported, rule.what) && !belowAny(importer, rule.except) {
			return true
		}
	}
	return false
}

// TestOutside keeps what runs in the simulation out of a test that has not built itself for it
// yet: whoever imports simtest compiles that first, and then everything again for the simulation.
func TestOutside(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./simtest").Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "k8s.io/client-go/rest\n")
	for _, heavy := range []string{"go.etcd.io/etcd/server/", "k8s.io/apiserver/", "k8s.io/apiextensions-apiserver/", module + "/cluster"} {
		require.NotContains(t, string(out), heavy)
	}
}

func TestWhoMayKnowWhom(t *testing.T) {
	out, err := exec.Command("go", "list", "-tags", "watchsim",
		"-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}{{range .TestImports}} {{.}}{{end}}{{range .XTestImports}} {{.}}{{end}}`,
		"./...").Output()
	require.NoError(t, err)
	packages := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Greater(t, len(packages), 10)
	for _, line := range packages {
		words := strings.Fields(line)
		_, stands := layer(words[0])
		require.True(t, stands || words[0] == module, "%s stands on no layer: add its folder to layers", words[0])
		for _, imported := range words[1:] {
			require.False(t, forbidden(words[0], imported), "%s imports %s", words[0], imported)
			require.False(t, upward(words[0], imported), "%s imports %s of a layer above it", words[0], imported)
		}
	}
}

// TestTheRulesForbid shows that the rules can fail.
func TestTheRulesForbid(t *testing.T) {
	require.True(t, forbidden(module+"/model", module+"/traces"))
	require.True(t, upward(module+"/cacher/window", module+"/sim"))
	require.True(t, forbidden(module+"/cluster", "k8s.io/apiserver/pkg/storage"))
	require.True(t, forbidden(module+"/cluster", module+"/cluster/target/kubernetes"))
	require.False(t, forbidden(module+"/cluster/target/kubernetes", "k8s.io/apiserver/pkg/storage"))
	require.False(t, forbidden(module+"/traces", module+"/model"))
	require.False(t, forbidden(module+"/simple", "k8s.io/api"))
	require.True(t, upward(module+"/sim/simnet", module+"/cluster"))
	require.True(t, upward(module+"/cluster/scenario", module+"/search/swarm"))
	require.False(t, upward(module+"/search/swarm", module+"/cluster/scenario"))
}

// TestLayers prints what each layer comes to (`go test -run Layers -v .`):
// folders with Go files, files, lines with and without tests, and the length of
// the longest chain of imports within the layer.
func TestLayers(t *testing.T) {
	out, err := exec.Command("go", "list", "-tags", "watchsim", "-f",
		`{{.ImportPath}}|{{.Dir}}|{{join .GoFiles " "}}|{{join .TestGoFiles " "}} {{join .XTestGoFiles " "}}|{{join .Imports " "}}`, "./...").Output()
	require.NoError(t, err)
	imports := map[string][]string{}
	type sums struct{ folders, files, code, tests, floors int }
	per, total := make([]sums, len(layers)), sums{}
	for line := range strings.Lines(strings.TrimSpace(string(out))) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		level, stands := layer(fields[0])
		if !stands {
			continue
		}
		imports[fields[0]] = strings.Fields(fields[4])
		at := &per[level]
		at.folders++
		for column, into := range map[int]*int{2: &at.code, 3: &at.tests} {
			for _, name := range strings.Fields(fields[column]) {
				text, err := os.ReadFile(filepath.Join(fields[1], name))
				require.NoError(t, err)
				at.files++
				*into += strings.Count(string(text), "\n")
			}
		}
	}
	var floor func(path string) int
	floor = func(path string) int {
		high := 0
		for _, imported := range imports[path] {
			from, _ := layer(path)
			if to, stands := layer(imported); stands && to == from {
				high = max(high, floor(imported))
			}
		}
		return high + 1
	}
	for path := range imports {
		level, _ := layer(path)
		per[level].floors = max(per[level].floors, floor(path))
	}
	t.Logf("%-48s %7s %5s %6s %6s %6s", "layer", "folders", "files", "code", "tests", "floors")
	for level, s := range per {
		t.Logf("%-48s %7d %5d %6d %6d %6d", strings.Join(layers[level], " "), s.folders, s.files, s.code, s.tests, s.floors)
		total.folders, total.files, total.code, total.tests = total.folders+s.folders, total.files+s.files, total.code+s.code, total.tests+s.tests
	}
	t.Logf("%-48s %7d %5d %6d %6d", "all", total.folders, total.files, total.code, total.tests)
	require.LessOrEqual(t, total.folders, maxFolders, "there are more folders than a newcomer can learn: merge some")
}
