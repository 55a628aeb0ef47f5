package mutant

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrMoved means that the code that a mutant edits is not where it was.
var ErrMoved = errors.New("a mutant's edit does not apply")

// Check says whether the edit applies to the module in a folder: its anchor has to
// occur exactly once. The error says where the code has likely gone.
func (m Mutant) Check(dir string) error {
	path := filepath.Join(dir, filepath.FromSlash(m.File))
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%w: %s: expected the file %s of %s, found %v; %s", ErrMoved, m.Name, m.File, m.Module, err, m.whereabouts(dir))
	}
	if _, err := m.Patch().Apply(string(text)); err != nil {
		return fmt.Errorf("%w: %s of %s: %s; %w", ErrMoved, m.Name, m.Module, m.whereabouts(dir), err)
	}
	return nil
}

// placesShown is how many places an error names.
const placesShown = 3

// whereabouts looks through the module for the most telling line of the anchor that
// is still there.
func (m Mutant) whereabouts(dir string) string {
	lines := telling(m.Anchor)
	found := make([][]string, len(lines))
	_ = filepath.WalkDir(dir+string(filepath.Separator), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		for i, line := range lines {
			before, _, has := strings.Cut(string(text), line)
			if relative, err := filepath.Rel(dir, path); has && err == nil {
				found[i] = append(found[i], fmt.Sprintf("%s:%d", filepath.ToSlash(relative), strings.Count(before, "\n")+1))
			}
		}
		return nil
	})
	for i, places := range found {
		if len(places) > 0 && len(places) <= placesShown {
			return fmt.Sprintf("the code has likely gone to where `%s` is, %s", lines[i], strings.Join(places, ", "))
		}
	}
	return "no line of it is anywhere in the module: the code was rewritten, so read what became of " + m.File
}

// telling are the lines of an anchor that are worth looking for, the longest first.
func telling(anchor string) []string {
	var lines []string
	for line := range strings.Lines(anchor) {
		if line = strings.TrimSpace(line); len(line) > 12 {
			lines = append(lines, line)
		}
	}
	slices.SortStableFunc(lines, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return lines
}
