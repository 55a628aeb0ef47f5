package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/sim/mutant"
	"github.com/watchsim/watchsim/sim/overlay"
	"github.com/watchsim/watchsim/sim/selfbuild"
)

// suite runs the tests of the package that a mutant edits, with the edit, as its
// authors run them: with the Go that is installed, and no simulation.
func (h *hunter) suite(ctx context.Context, m mutant.Mutant) error {
	if len(suitesOf(h.results.all, m)) > 0 {
		return nil
	}
	r := result{Mutant: m.Name, Key: suiteKeyOf(m), Suite: path.Join(m.Module, path.Dir(m.File))}
	var err error
	if r.Red, err = redTests(ctx, m, r.Suite); err != nil {
		return fmt.Errorf("the suite of %s: %w", m.Name, err)
	}
	verdict := "silent"
	if len(r.Red) > 0 {
		verdict = "red: " + strings.Join(r.Red, ", ")
	}
	fmt.Fprintf(h.stdout, "%-24s %s: %s\n", m.Name, r.Suite, verdict)
	return h.results.add(r)
}

// redTests are the tests of a package that fail with a mutant's edit.
func redTests(ctx context.Context, m mutant.Mutant, pkg string) ([]string, error) {
	source, err := selfbuild.Source()
	if err != nil {
		return nil, err
	}
	dir, err := overlay.ModuleDir(source, m.Module)
	if err != nil {
		return nil, err
	}
	flags, cleanUp, err := overlayOnly(source, dir, m)
	if err != nil {
		return nil, err
	}
	defer cleanUp()
	test := exec.CommandContext(ctx, "go", append(append([]string{"test", "-json", "-count", "1", "-timeout", "15m"}, flags...), pkg)...)
	test.Dir = source
	var complaint bytes.Buffer
	test.Stderr = &complaint
	out, err := test.Output()
	var red []string
	ran := false
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var event struct{ Action, Test string }
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			continue
		}
		name, _, _ := strings.Cut(event.Test, "/")
		ran = ran || name != ""
		if event.Action == "fail" && name != "" && !slices.Contains(red, name) {
			red = append(red, name)
		}
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, errors.New("interrupted")
	case !ran:
		return nil, fmt.Errorf("expected tests in %s, found %v: %s", pkg, err, lastLines(complaint.String()+string(out)))
	case err != nil && len(red) == 0 && errors.As(err, &exit):
		red = []string{"(a panic or the time limit)"}
	}
	return red, nil
}

// overlayOnly are the flags of the go command that make one edit, and no other.
func overlayOnly(source, dir string, m mutant.Mutant) (flags []string, cleanUp func(), err error) {
	scratch, err := os.MkdirTemp("", "hunt-suite-")
	if err != nil {
		return nil, nil, err
	}
	cleanUp = func() { os.RemoveAll(scratch) }
	defer func() {
		if err != nil {
			cleanUp()
		}
	}()
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(m.File)))
	if err != nil {
		return nil, nil, err
	}
	goMod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return nil, nil, err
	}
	goSum, err := os.ReadFile(filepath.Join(source, "go.sum"))
	if err != nil {
		return nil, nil, err
	}
	// The go command overlays nothing in its module cache, but what lies below a link.
	at := dir
	if dir != source {
		at = filepath.Join(scratch, "module")
		if err := os.Symlink(dir, at); err != nil {
			return nil, nil, err
		}
		goMod = fmt.Appendf(goMod, "\nreplace %s => %q\n", m.Module, at)
	}
	edited := filepath.Join(scratch, "edited.go")
	listing, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(at, filepath.FromSlash(m.File)): edited}})
	if err != nil {
		return nil, nil, err
	}
	for name, content := range map[string]string{
		"edited.go":    strings.Replace(string(text), m.Anchor, m.Replacement, 1),
		"overlay.json": string(listing),
		"go.mod":       string(goMod),
		"go.sum":       string(goSum),
	} {
		if err := os.WriteFile(filepath.Join(scratch, name), []byte(content), 0o600); err != nil {
			return nil, nil, err
		}
	}
	return []string{"-overlay", filepath.Join(scratch, "overlay.json"), "-modfile", filepath.Join(scratch, "go.mod")}, cleanUp, nil
}

// lastLines is the end of a text: why a process gave up.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
