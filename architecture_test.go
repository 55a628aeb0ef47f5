package watchsim_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/watchsim/watchsim"

// mayNotImport says which packages must not know which: prefixes of import
// paths, below the module where they begin with a slash. ARCHITECTURE.md says why.
var mayNotImport = []struct {
	who, what string
	except    []string
}{
	{who: "/model", what: module},
	{who: "/model", what: "k8s.io/"},
	{who: "/model", what: "go.etcd.io/"},
	{who: "/linearizability", what: "k8s.io/"},
	{who: "/linearizability", what: "/sim"},
	{who: "/linearizability", what: "/faults"},
	{who: "/linearizability", what: "/traces"},
	// recorder reads from real API servers as controllers do, with client-go.
	{who: "/traces", what: "k8s.io/", except: []string{"/traces/recorder"}},
	{who: "/traces/importer", what: "/traces/recorder"},
	{who: "/traces", what: "/sim"},
	{who: "/traces", what: "/faults"},
	{who: "/traces", what: "/linearizability", except: []string{"/traces/judge", "/traces/timeline"}},
	{who: "/faults", what: "k8s.io/"},
	{who: "/faults", what: "/sim"},
	{who: "/sim", what: "k8s.io/", except: []string{"/sim/target/apiserver", "/sim/target/kubernetes", "/sim/target/cacher"}},
	{who: "/sim", what: "/cmd"},
	{who: "/sim", what: "/sim/target/apiserver", except: []string{"/sim/target/apiserver", "/sim/target/kubernetes", "/sim/target/cacher"}},
	// bench measures the whole.
	{who: "/sim", what: "/sim/target/cacher", except: []string{"/sim/target/cacher", "/sim/bench"}},
	{who: "/sim", what: "/cacher", except: []string{"/sim/target/cacher"}},
	{who: "/sim", what: "/sim/target/kubernetes", except: []string{"/sim/target/kubernetes"}},
	{who: "/cacher", what: "/sim"},
	{who: "/cacher", what: "/model"},
	{who: "/cacher", what: "/faults"},
	{who: "/cacher", what: "/traces"},
	{who: "/cacher", what: "/linearizability"},
}

// forbidden reports whether a rule keeps one package from importing another.
func forbidden(importer, imported string) bool {
	below := func(path, prefix string) bool {
		if strings.HasPrefix(prefix, "/") {
			prefix = module + prefix
			return path == prefix || strings.HasPrefix(path, prefix+"/")
		}
		return strings.HasPrefix(path, prefix)
	}
	if importer == imported {
		return false // an external test package
	}
	for _, rule := range mayNotImport {
		if !below(importer, rule.who) || !below(imported, rule.what) {
			continue
		}
		excepted := false
		for _, except := range rule.except {
			excepted = excepted || below(importer, except)
		}
		if !excepted {
			return true
		}
	}
	return false
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
		for _, imported := range words[1:] {
			require.False(t, forbidden(words[0], imported), "%s imports %s", words[0], imported)
		}
	}
}

// TestTheRulesForbid shows that the rules can fail.
func TestTheRulesForbid(t *testing.T) {
	require.True(t, forbidden(module+"/model", module+"/traces"))
	require.True(t, forbidden(module+"/cacher/window", module+"/sim"))
	require.True(t, forbidden(module+"/sim/cluster", "k8s.io/apiserver/pkg/storage"))
	require.True(t, forbidden(module+"/sim/cluster", module+"/sim/target/kubernetes"))
	require.False(t, forbidden(module+"/sim/target/kubernetes", "k8s.io/apiserver/pkg/storage"))
	require.False(t, forbidden(module+"/traces", module+"/model"))
	require.False(t, forbidden(module+"/simple", "k8s.io/api"))
}
