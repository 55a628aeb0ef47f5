package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
)

var update = flag.Bool("update", false, "rewrite the table of docs/oracle.md")

const (
	document = "../../docs/oracle.md"
	begin    = "<!-- The tables of the rules: go test ./linearizability/mutate -run TestDocumentation -update -->\n"
	end      = "<!-- The end of the tables. -->\n"
)

// headings are those of the tables, by the first guarantee in each.
var headings = map[string]string{
	"Linearizable":  "The store",
	"Isolated":      "One stream",
	"Exact-state":   "Lists and gets",
	"Resumable":     "One client, across its streams and reads",
	"Unblocked":     "After faults have healed",
	"InternalError": "Error responses",
	"Answered":      "While nothing is wrong",
}

// tables renders the guarantees for the documentation, each with the tests that fail when
// its code is broken.
func tables() string {
	var b strings.Builder
	for _, g := range linearizability.Guarantees {
		if about := headings[g.Name]; about != "" {
			fmt.Fprintf(&b, "\n## %s\n\n| guarantee | source | what it catches | test that shows it red |\n|---|---|---|---|\n", about)
		}
		var tests []string
		for _, m := range mutants {
			if test := "`" + m.test + "`"; m.guarantee == g.Name && !slices.Contains(tests, test) {
				tests = append(tests, test)
			}
		}
		name := g.Name
		if g.Observed() {
			name += " (an observation)"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, g.Source, g.Catches, strings.Join(tests, ", "))
	}
	return b.String() + "\n"
}

func TestDocumentationHasTheRules(t *testing.T) {
	content, err := os.ReadFile(document)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(content), begin)
	require.True(t, found)
	shown, after, found := strings.Cut(rest, end)
	require.True(t, found)
	if *update {
		require.NoError(t, os.WriteFile(document, []byte(before+begin+tables()+end+after), 0o644))
		return
	}
	require.Equal(t, tables(), shown, "run the test with -update")
}

// TestDocumentationNamesTestsThatExist reads the tests of the oracle.
func TestDocumentationNamesTestsThatExist(t *testing.T) {
	paths, err := filepath.Glob("../*_test.go")
	require.NoError(t, err)
	var sources strings.Builder
	for _, path := range paths {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		sources.Write(source)
	}
	content, err := os.ReadFile(document)
	require.NoError(t, err)
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(content), -1)
	require.NotEmpty(t, named)
	for _, match := range named {
		require.Contains(t, sources.String(), "func "+match[1]+"(")
	}
}
