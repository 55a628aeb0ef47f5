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

	"github.com/watchsim/watchsim/sim/overlay"
)

// ErrMoved means that the code that a mutant edits has moved.
var ErrMoved = errors.New("a mutant's edit does not apply")

// Check returns an error unless every edit of these mutants, which are to be in one binary, applies
// to its module: its anchor must occur exactly once in the result of the edits before it. The error
// says where the code has probably moved. dir returns the folder of a module.
func Check(dir func(module string) (string, error), mutants ...Mutant) error {
	texts := map[string]string{}
	before := map[string]string{} // the mutant that edits a file
	for _, m := range mutants {
		for _, p := range m.Patches() {
			if p.Points != "" {
				continue
			}
			folder, err := dir(p.Module)
			if err != nil {
				return err
			}
			path := filepath.Join(folder, filepath.FromSlash(p.File))
			text, edited := texts[path]
			if !edited {
				read, err := os.ReadFile(path)
				if err != nil {
					return fmt.Errorf("%w: %s: expected the file %s of %s, found %v; %s", ErrMoved, m.Name, p.File, p.Module, err, whereabouts(p, folder))
				}
				text = string(read)
			}
			texts[path], err = p.Apply(text)
			switch other := before[path]; {
			case err != nil && other != "" && other != m.Name:
				return fmt.Errorf("%w: expected edits of different places, found %s and %s at one place in %s", ErrApart, other, m.Name, p.File)
			case err != nil:
				return fmt.Errorf("%w: %s of %s: %s; %w", ErrMoved, m.Name, p.Module, whereabouts(p, folder), err)
			}
			before[path] = m.Name
		}
	}
	return nil
}

// placesShown is the largest number of places in an error.
const placesShown = 3

// whereabouts searches a module for the most distinctive line of an edit's anchor that still
// exists.
func whereabouts(p overlay.Patch, dir string) string {
	lines := telling(p.Anchor)
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
	return "no line of it is anywhere in the module: the code was rewritten, so read what became of " + p.File
}

// telling returns the lines of an anchor that are worth searching for, longest first.
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
