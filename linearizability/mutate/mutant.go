package main

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"
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
	// breaks says in a few words what the broken rule does.
	breaks string
	// file is the file of the oracle that is edited, test the test that must fail.
	file, test string
	// anchor occurs exactly once in the file, and replacement replaces it.
	anchor, replacement string
}

// apply returns the edited file. It fails if the anchor does not occur exactly
// once, and says where the code has probably moved.
func (m *mutant) apply(folder string) (string, error) {
	path := filepath.Join(folder, m.file)
	source, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the mutant of %s that edits %s: %w; %s", m.guarantee, m.file, err, m.whereabouts(folder))
	}
	if n := strings.Count(string(source), m.anchor); n != 1 {
		return "", fmt.Errorf("the mutant of %s that edits %s: expected its anchor once in the file, found it %d times; %s; the anchor is\n%s",
			m.guarantee, m.file, n, m.whereabouts(folder), m.anchor)
	}
	edited := strings.Replace(string(source), m.anchor, m.replacement, 1)
	if _, err := format.Source([]byte(edited)); err != nil {
		return "", fmt.Errorf("the mutant of %s that edits %s is not valid Go: %w", m.guarantee, m.file, err)
	}
	return edited, nil
}

// whereabouts says which files of the oracle contain the anchor, or else its longest
// line, or else the guarantee.
func (m *mutant) whereabouts(folder string) string {
	longest := slices.MaxFunc(strings.Split(m.anchor, "\n"), func(a, b string) int {
		return len(strings.TrimSpace(a)) - len(strings.TrimSpace(b))
	})
	for _, clue := range []struct{ text, what string }{
		{m.anchor, "it has probably moved to"},
		{strings.TrimSpace(longest), "its longest line is in"},
		{strings.ReplaceAll(m.guarantee, "-", ""), "the code has changed; files that mention the guarantee are"},
	} {
		if files := filesWith(folder, clue.text); len(files) > 0 {
			return clue.what + " " + strings.Join(files, ", ")
		}
	}
	return "no file of the oracle has anything similar"
}

// filesWith returns the oracle's files, except tests, that contain a text.
func filesWith(folder, text string) []string {
	paths, _ := filepath.Glob(filepath.Join(folder, "*.go"))
	var found []string
	for _, path := range paths {
		if source, err := os.ReadFile(path); err == nil && !strings.HasSuffix(path, "_test.go") && strings.Contains(string(source), text) {
			found = append(found, filepath.Base(path))
		}
	}
	return found
}
