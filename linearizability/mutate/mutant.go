package main

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"strings"
)

// Where the oracle is.
const (
	modulePath = "github.com/watchsim/watchsim"
	oracle     = "linearizability"
)

// mutant is one edit that breaks a rule.
type mutant struct {
	// guarantee is the name of the guarantee whose rule it breaks.
	guarantee string
	// breaks says in a few words what the broken rule does, test which test must fail.
	breaks, test string
	// anchor occurs exactly once in the files of the oracle, and replacement replaces it.
	anchor, replacement string
}

// apply returns the name of the file that has the anchor, and its edited content. It fails
// unless the anchor occurs exactly once.
func (m *mutant) apply(folder string) (file, edited string, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return "", "", err
	}
	found := 0
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			return "", "", err
		}
		if n := strings.Count(string(source), m.anchor); n > 0 && !strings.HasSuffix(path, "_test.go") {
			found += n
			file, edited = filepath.Base(path), strings.Replace(string(source), m.anchor, m.replacement, 1)
		}
	}
	if found != 1 {
		return "", "", fmt.Errorf("the mutant of %s with which %s: expected its anchor once in the files of the oracle, found it %d times; the anchor is\n%s",
			m.guarantee, m.breaks, found, m.anchor)
	}
	if _, err := format.Source([]byte(edited)); err != nil {
		return "", "", fmt.Errorf("the mutant of %s with which %s is not valid Go: %w", m.guarantee, m.breaks, err)
	}
	return file, edited, nil
}
