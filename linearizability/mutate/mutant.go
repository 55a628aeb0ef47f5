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
	// breaks says in a few words what the rule does wrong then.
	breaks string
	// file is the file of the oracle that is edited, test the test that has to turn
	// red.
	file, test string
	// Where anchor occurs in the file, exactly once, it is replaced.
	anchor, replacement string
}

// apply returns the edited file. It fails if the anchor does not occur exactly
// once, and says where the code has likely gone.
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
		return "", fmt.Errorf("the mutant of %s that edits %s is no Go any more: %w", m.guarantee, m.file, err)
	}
	return edited, nil
}

// whereabouts says which files of the oracle have the anchor, or failing that the
// longest line of it, or failing that the guarantee.
func (m *mutant) whereabouts(folder string) string {
	longest := slices.MaxFunc(strings.Split(m.anchor, "\n"), func(a, b string) int {
		return len(strings.TrimSpace(a)) - len(strings.TrimSpace(b))
	})
	for _, clue := range []struct{ text, what string }{
		{m.anchor, "it has likely moved to"},
		{strings.TrimSpace(longest), "its longest line is in"},
		{strings.ReplaceAll(m.guarantee, "-", ""), "the code has changed; files that speak of the guarantee are"},
	} {
		if files := filesWith(folder, clue.text); len(files) > 0 {
			return clue.what + " " + strings.Join(files, ", ")
		}
	}
	return "no file of the oracle has anything like it"
}

// filesWith returns the oracle's files, tests apart, that hold a text.
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
