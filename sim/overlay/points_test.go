package overlay

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const pointless = `package some

import "fmt"

// Sum has every kind of block.
func Sum(of []int, done chan bool) (sum int) {
	for i, n := range of {
		if n < 0 {
			continue
		}
		switch {
		case i == 0:
			sum = n
			fallthrough
		default:
			sum += n
		}
	}
	select {
	case <-done:
		return 0
	default:
	}
again:
	if sum > 100 {
		sum /= 2
		goto again
	}
	defer func() { fmt.Println(sum) }()
	return sum
}

//go:nosplit
func untouched() int { x := 1; return x }

type shape interface{ area() int }

func generic[T any](of T) T { return of }
`

func TestPointsStandBeforeEveryStatement(t *testing.T) {
	text, err := withPoints("some.go", pointless)
	require.NoError(t, err)
	require.Equal(t, strings.Count(pointless, "\n"), strings.Count(text, "\n"), "a line has moved")
	require.Equal(t, pointless, strings.ReplaceAll(text, pointsCall, ""), "something else has changed")
	require.Equal(t, 16, strings.Count(text, pointsCall))
	for _, line := range []string{
		"\twatchsimPoint(); for i, n := range of {\n", "\t\t\twatchsimPoint(); fallthrough\n", "\t\twatchsimPoint(); return 0\n",
		"watchsimPoint(); again:\n", "{ watchsimPoint(); fmt.Println(sum) }()", "func untouched() int { x := 1; return x }", "{ watchsimPoint(); return of }",
	} {
		require.Contains(t, text, line)
	}
	_, err = parser.ParseFile(token.NewFileSet(), "some.go", text, 0)
	require.NoError(t, err)
	_, err = withPoints("some.go", "package")
	require.ErrorContains(t, err, "expected a Go file to put points into")
}

// Points come on top of edits, into the files that are built here, and not into tests.
func TestPointsOfAPackage(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	write("some.go", "package some\n\nfunc f() { g() }\n")
	write("some_test.go", "package some\n\nfunc t() { g() }\n")
	write("some_windows.go", "package some\n\nfunc w() { g() }\n")
	edited := filepath.Join(folder, "some.go")
	contents := map[string]string{edited: "package some\n\nfunc f() { h() }\n"}
	require.NoError(t, addPoints(folder, contents))
	require.Equal(t, map[string]string{
		edited:                            "package some\n\nfunc f() { watchsimPoint(); h() }\n",
		filepath.Join(folder, pointsFile): "package some\n" + pointsCode,
	}, contents)
	require.ErrorContains(t, addPoints(t.TempDir(), contents), "expected a Go package to put points into")
}
