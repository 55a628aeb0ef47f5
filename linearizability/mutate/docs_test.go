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

// tables renders the rules for the documentation, each with the tests that fail when
// its code is broken.
func tables() string {
	var b strings.Builder
	about := ""
	for i := range linearizability.Rules {
		rule := &linearizability.Rules[i]
		if rule.About != about {
			about = rule.About
			fmt.Fprintf(&b, "\n## %s\n\n| guarantee | source | what it catches | test that shows it red |\n|---|---|---|---|\n", about)
		}
		name := rule.Name()
		var tests []string
		for _, m := range mutants {
			if test := "`" + m.test + "`"; m.guarantee == name && !slices.Contains(tests, test) {
				tests = append(tests, test)
			}
		}
		if rule.Guarantee == nil {
			name += " (an observation)"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, rule.Source, rule.Catches, strings.Join(tests, ", "))
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
