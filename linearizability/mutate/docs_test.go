package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// row is one line of a table in docs/oracle.md.
type row struct {
	name, source, catches string
	tests                 []string
}

var (
	named    = regexp.MustCompile("`(Test\\w+)`")
	declared = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// rows returns the lines of all tables in docs/oracle.md, without their heads.
func rows(t *testing.T) []row {
	text, err := os.ReadFile("../../docs/oracle.md")
	require.NoError(t, err)
	var all []row
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| guarantee ") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		require.Len(t, cells, 4, "expected guarantee, source, what it catches, and tests: %s", line)
		r := row{name: strings.TrimSuffix(cells[0], " (an observation)"), source: cells[1], catches: cells[2]}
		for _, match := range named.FindAllStringSubmatch(cells[3], -1) {
			r.tests = append(r.tests, match[1])
		}
		all = append(all, r)
	}
	return all
}

func TestTheDocumentationHasEachGuaranteeOnce(t *testing.T) {
	var names []string
	for _, r := range rows(t) {
		names = append(names, r.name)
		require.NotEmpty(t, r.source, r.name)
		require.NotEmpty(t, r.catches, r.name)
		require.NotEmpty(t, r.tests, r.name)
	}
	require.ElementsMatch(t, guarantees(t), names)
}

// TestTheDocumentationNamesTestsThatExist reads the tests of the oracle. Those
// that docs/oracle.md names in its text have to be there as well.
func TestTheDocumentationNamesTestsThatExist(t *testing.T) {
	paths, err := filepath.Glob("../*_test.go")
	require.NoError(t, err)
	var tests []string
	for _, path := range paths {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, match := range declared.FindAllStringSubmatch(string(source), -1) {
			tests = append(tests, match[1])
		}
	}
	text, err := os.ReadFile("../../docs/oracle.md")
	require.NoError(t, err)
	matches := named.FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, matches)
	for _, match := range matches {
		require.Contains(t, tests, match[1])
	}
}

// TestMutantsTurnDocumentedTestsRed keeps the two from drifting apart: what the
// documentation says would notice is what does.
func TestMutantsTurnDocumentedTestsRed(t *testing.T) {
	tests := map[string][]string{}
	for _, r := range rows(t) {
		tests[r.name] = r.tests
	}
	for _, m := range mutants {
		require.True(t, slices.Contains(tests[m.guarantee], m.test), "the row of %s in docs/oracle.md does not name %s", m.guarantee, m.test)
	}
}
