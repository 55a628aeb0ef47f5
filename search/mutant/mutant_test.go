package mutant

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim/overlay"
)

// ours is the project, whose modules the mutants edit.
var ours = overlay.Project{Dir: "../.."}

// at returns one folder for every module.
func at(dir string) func(string) (string, error) {
	return func(string) (string, error) { return dir, nil }
}

func TestEveryEditOfAReleaseApplies(t *testing.T) {
	for _, m := range released {
		project := overlay.Project{Dir: "../../cluster/released/" + m.Target}
		require.NoError(t, Check(overlay.ModuleDirs(project), m))
		require.NotEmpty(t, m.Hunt, m.Name)
	}
}

func TestEveryEditOfTheOperatorApplies(t *testing.T) {
	dir := at("../../examples/operator")
	for _, m := range Operator() {
		found, err := Find(m.Name)
		require.NoError(t, err)
		require.Equal(t, operator, found.Target)
	}
	_, err := Switched(dir, Operator())
	require.NoError(t, err)
}

func TestAnEditThatNoLongerAppliesSaysWhereItsCodeHasGone(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	m := Mutant{Name: "A00", Module: "example.org/m", File: "a/here.go", Anchor: "	if generation != readyGeneration {\n		return\n"}

	write("a/here.go", "package a\n\nfunc f() {\n	if generation != readyGeneration {\n		return\n	}\n}\n")
	require.NoError(t, Check(at(dir), m))

	write("a/here.go", "package a\n")
	write("b/there.go", "package b\n\nfunc g() {\n	if generation != readyGeneration {\n		return errStale\n	}\n}\n")
	err := Check(at(dir), m)
	require.ErrorIs(t, err, ErrMoved)
	require.ErrorContains(t, err, "expected it once in a/here.go, found it 0 times")
	require.ErrorContains(t, err, "likely gone to where `if generation != readyGeneration {` is, b/there.go:4")

	require.NoError(t, os.Remove(filepath.Join(dir, "a/here.go")))
	require.ErrorContains(t, Check(at(dir), m), "b/there.go:4")

	write("b/there.go", "package b\n")
	require.ErrorContains(t, Check(at(dir), m), "no line of it is anywhere")

	write("a/here.go", strings.Repeat(m.Anchor, 2))
	require.ErrorContains(t, Check(at(dir), m), "found it 2 times")

	write("a/here.go", m.Anchor)
	m.More = []Edit{{File: "b/there.go", Anchor: "package c\n"}}
	require.ErrorContains(t, Check(at(dir), m), "expected it once in b/there.go, found it 0 times")

	m.More = nil
	require.NoError(t, Check(at(dir), append(slices.Clone(variants), m)...), "a variant goes with every mutant")
	other := m
	other.Name = "B00"
	err = Check(at(dir), m, other)
	require.ErrorIs(t, err, ErrApart)
	require.ErrorContains(t, err, "found A00 and B00 at one place in a/here.go")
}

func TestMutantsAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range All() {
		require.False(t, seen[m.Name], "%s is there twice", m.Name)
		seen[m.Name] = true
		require.Regexp(t, `^[A-Za-z0-9-]+$`, m.Name)
		require.True(t, strings.HasSuffix(m.Summary, "."), "%s: a summary is a sentence", m.Name)
		for _, p := range m.Patches() {
			require.NotEqual(t, p.Anchor, p.Replacement, m.Name)
		}
		require.Contains(t, []string{"", "kubernetes", "cacher"}, m.Target, m.Name)
		require.False(t, m.Equivalent != "" && m.Unseen != "", "%s: a control is not expected to be found", m.Name)
		if m.Module == watchsim {
			require.Equal(t, "cacher", m.Target, "%s: only our own cacher is damaged", m.Name)
		}
	}
}

// The project's promise about its list.
func TestTheListIsLargeEnough(t *testing.T) {
	count := func(counts func(Mutant) bool) int {
		return len(slices.DeleteFunc(All(), func(m Mutant) bool { return !counts(m) }))
	}
	bug := func(m Mutant) bool { return m.Equivalent == "" && m.Source != "" }
	require.GreaterOrEqual(t, count(bug), 40)
	require.GreaterOrEqual(t, count(func(m Mutant) bool { return bug(m) && m.Module == apiserver && m.Target == "kubernetes" }), 12)
	require.GreaterOrEqual(t, count(func(m Mutant) bool { return bug(m) && (m.Module == etcdServer || m.Module == etcdClient) }), 6)
	require.GreaterOrEqual(t, count(func(m Mutant) bool { return m.Equivalent != "" }), 4)
}

func TestSeveralMutantsHaveOneTarget(t *testing.T) {
	for names, want := range map[string]struct{ target, problem string }{
		"":               {"", ""},
		"A01":            {"kubernetes", ""},
		"E01,A01":        {"kubernetes", ""},
		"E01,E02":        {"", ""},
		"A01,cacher-A01": {"", "expected mutants of one target, found cacher-A01 of cacher beside others of kubernetes"},
		"A01,A01":        {"", "found A01 twice"},
		"A01,A00":        {"", `found "A00"`},
	} {
		found, target, err := FindAll(names)
		if want.problem != "" {
			require.ErrorContains(t, err, want.problem)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want.target, target)
		require.Equal(t, len(strings.FieldsFunc(names, func(r rune) bool { return r == ',' })), len(found))
	}
}

// A third is held out, of every kind of mutant.
func TestAThirdIsHeldOut(t *testing.T) {
	held, bugs := 0, 0
	for _, m := range All() {
		if m.Equivalent == "" {
			bugs++
			if m.HeldOut() {
				held++
			}
		}
	}
	require.InDelta(t, float64(bugs)/heldOutOneIn, held, float64(bugs)/8)
}
