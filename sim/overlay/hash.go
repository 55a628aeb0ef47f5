package overlay

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
)

// Hash identifies the edits of Go's files: two binaries with one hash and one release of Go
// simulate alike.
func Hash() string {
	h := sha256.New()
	for _, e := range goEdits {
		fmt.Fprintf(h, "%q %q %q\n", e.File, e.Anchor, e.Replacement)
	}
	for _, file := range slices.Sorted(maps.Keys(newFiles)) {
		fmt.Fprintf(h, "%q %q\n", file, newFiles[file])
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}
