package mutant

import (
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim/overlay"
)

const switchedSource = `// Package main is edited.
package main

import "fmt"

type t struct{ n int }

// add adds.
func (r *t) add(a int, _ string, more ...int) (sum int, err error) {
	sum = r.n + a
	for _, m := range more {
		sum += m
	}
	return sum, nil
}

func (r *t) inc() {
	r.n++
}

func (r *t) pick(kind int) string {
	switch {
	case kind == 1:
		return "one"
	case kind == 2:
		if r.n < 0 {
			return "never"
		}
		return "two"
	}
	return "more"
}

func main() {
	r := &t{n: 1}
	r.inc()
	sum, _ := r.add(10, "", 100, 1000)
	fmt.Println(sum, r.pick(2), r.pick(3))
}
`

// One binary has all mutants, and behaves like the one that is switched on.
func TestSwitchedMutantsAreOneProgram(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("main.go", switchedSource)
	edit := func(name, anchor, replacement string) Mutant {
		return Mutant{Name: name, Module: "example.org/m", File: "main.go", Anchor: anchor, Replacement: replacement}
	}
	several := edit("several", "type t struct{ n int }\n", "type t struct{ n int }\n\nfunc twice(n int) int { return 2 * n }\n")
	several.More = []Edit{
		{Anchor: "		return \"two\"\n", Replacement: "		return \"zwei\"\n"},
		{Anchor: "	return \"more\"\n", Replacement: "	return \"many\"\n"},
		{Anchor: "	r.n++\n", Replacement: "	r.n = twice(r.n) + 3\n"},
	}
	mutants := []Mutant{
		edit("minus", "		sum += m\n", "		sum -= m\n"),
		edit("M-ten", "	sum = r.n + a\n", "	sum = r.n\n"),
		edit("noinc", "	r.n++\n}\n", "}\n"),
		several,
		edit("clause", "	case kind == 1:\n", "	case kind == 0:\n"),
		edit("fix-two", "		return \"two\"\n", "		return \"2\"\n"),
		edit("unreached", "			return \"never\"\n", "			return \"ever\"\n"),
	}
	patches, err := Switched(at(dir), mutants)
	require.NoError(t, err)
	text := switchedSource
	for _, p := range patches {
		text, err = p.Apply(text)
		require.NoError(t, err)
	}
	_, err = format.Source([]byte(text))
	require.NoError(t, err, text)
	write("main.go", text)
	write("go.mod", "module example.org/m\n\ngo 1.26\n")
	binary := filepath.Join(dir, "switched")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir = dir
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, text)
	for name, want := range map[string]string{
		"": "1112 two more", "minus": "-1088 two more", "M-ten": "1102 two more", "noinc": "1111 two more",
		"noinc,minus": "-1089 two more", "M-ten,minus": "-1088 two more", "several": "1115 zwei many",
		"fix-two": "1112 2 more", "clause,fix-two": "1112 2 more", "unreached,fix-two": "1112 2 more", "several,fix-two": "1115 zwei many",
	} {
		run := exec.Command(binary)
		run.Env = append(os.Environ(), Variable+"="+name)
		out, err := run.Output()
		require.NoError(t, err)
		require.Equal(t, want, strings.TrimSpace(string(out)), name)
	}

	probes, err := NewProbes(filepath.Join(dir, "probes"), mutants)
	require.NoError(t, err)
	run := exec.Command(binary)
	run.Env = append(os.Environ(), ProbesVariable+"="+filepath.Join(dir, "probes"))
	require.NoError(t, run.Run())
	counts, err := probes.Counts()
	require.NoError(t, err)
	require.Equal(t, map[string][]uint64{
		"minus": {2}, "M-ten": {1}, "noinc": {1}, "several": {0, 1, 1, 1}, "clause": {0}, "fix-two": {1}, "unreached": {0},
	}, counts)

	_, err = Switched(at(dir), []Mutant{edit("type", "type t struct{", "type t struct {")})
	require.ErrorIs(t, err, ErrNotInFunction)
}

// Every edit applies, alone and beside all others.
func TestEveryMutantCanBeSwitched(t *testing.T) {
	dirs := overlay.ModuleDirs(ours)
	patches, err := Switched(dirs, All())
	require.NoError(t, err)
	edited := map[string]string{}
	for _, p := range patches {
		dir, err := dirs(p.Module)
		require.NoError(t, err)
		path := filepath.Join(dir, p.File)
		if edited[path] == "" {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			edited[path] = string(text)
		}
		edited[path], err = p.Apply(edited[path])
		require.NoError(t, err)
	}
	for path, text := range edited {
		_, err := format.Source([]byte(text))
		require.NoError(t, err, path)
	}
}
