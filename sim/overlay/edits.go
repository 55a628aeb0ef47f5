package overlay

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrAnchor means that a place to edit was not found exactly once.
var ErrAnchor = errors.New("the anchor of an edit does not occur exactly once")

// Edit replaces one piece of a file. The anchor must occur exactly once, so that a
// release that changed the place stops the build instead of being patched wrongly, or
// not at all.
type Edit struct {
	// File is a path with slashes: below GOROOT/src, or inside a module.
	File        string
	Anchor      string
	Replacement string
	// Why is the reason, for readers of the source.
	Why string
}

// Apply returns the text of the edit's file with the edit made, or an error that wraps
// ErrAnchor.
func (e Edit) Apply(text string) (string, error) {
	if n := strings.Count(text, e.Anchor); n != 1 || e.Anchor == "" {
		return "", fmt.Errorf("%w: expected it once in %s, found it %d times; the code has likely moved; anchor:\n%s", ErrAnchor, e.File, n, e.Anchor)
	}
	return strings.Replace(text, e.Anchor, e.Replacement, 1), nil
}

// edit makes the edit below a folder, on top of the edited texts that contents has by path.
func (e Edit) edit(folder string, contents map[string]string) error {
	path := filepath.Join(folder, filepath.FromSlash(e.File))
	text, err := textOf(path, contents)
	if err == nil {
		contents[path], err = e.Apply(text)
	}
	return err
}

// textOf returns the text of a file, as edited if it is in contents.
func textOf(path string, contents map[string]string) (string, error) {
	if text, edited := contents[path]; edited {
		return text, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%w: expected the file %s, found: %v", ErrAnchor, path, err)
	}
	return string(raw), nil
}

// replace is an edit that puts text in the place of the anchor.
func replace(file, anchor, text, why string) Edit {
	return Edit{file, anchor, text, why}
}

// after is an edit that keeps the anchor and adds text behind it.
func after(file, anchor, text, why string) Edit {
	return Edit{file, anchor, anchor + text, why}
}

// goEdits is everything the simulation needs of the Go toolchain. Each edit is
// guarded: it acts only on the goroutines of a running simulation, but for the
// few that are marked as process-wide.
var goEdits = slices.Concat(schedulerEdits, bubbleEdits, timerEdits, clockEdits, randomEdits, mapEdits, syncEdits, memoryEdits, outsideEdits, fileEdits, tableEdits)

// tableEdits let the project's own code find what was added.
var tableEdits = []Edit{
	replace("runtime/runtime.go", "func getAuxv() []uintptr { return auxv }\n", "func getAuxv() []uintptr { return simAuxiliary() }\n",
		"the table of the kernel's functions"),
}
