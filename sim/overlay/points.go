package overlay

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// pointsFile is the file that is added to a package with points, and pointsCall what is
// inserted before its statements, on the line of the statement.
const (
	pointsFile = "watchsim_points.go"
	pointsCall = "watchsimPoint(); "
)

// pointsCode declares the function that is called. To receive without waiting from a
// channel that is nil has no effect, but is a synchronisation point. Most calls do nothing,
// so that yields and stalls are not all spent between statements.
const pointsCode = `
var (
	watchsimNobody chan struct{}
	watchsimPassed uint32
)

func watchsimPoint() {
	if watchsimPassed++; watchsimPassed%8 != 0 {
		return
	}
	select {
	case <-watchsimNobody:
	default:
	}
}
`

// addPoints puts a synchronisation point before each statement of the package in a folder,
// on top of the edited texts that contents has by path. A goroutine can then be overtaken
// where it does not synchronise, as it can on real processors.
func addPoints(folder string, contents map[string]string) error {
	found, err := build.Default.ImportDir(folder, 0)
	if err != nil {
		return fmt.Errorf("expected a Go package to put points into, found: %w", err)
	}
	for _, name := range found.GoFiles {
		path := filepath.Join(folder, name)
		text, err := textOf(path, contents)
		if err == nil {
			contents[path], err = withPoints(path, text)
		}
		if err != nil {
			return err
		}
	}
	contents[filepath.Join(folder, pointsFile)] = "package " + found.Name + "\n" + pointsCode
	return nil
}

// withPoints returns the text of a Go file with points before its statements. No line moves.
func withPoints(path, text string) (string, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", fmt.Errorf("expected a Go file to put points into: %w", err)
	}
	var offsets []int
	mark := func(statements []ast.Stmt) {
		for _, s := range statements {
			switch s.(type) {
			case *ast.CaseClause, *ast.CommClause, *ast.EmptyStmt:
			default:
				offsets = append(offsets, files.Position(s.Pos()).Offset)
			}
		}
	}
	for _, declaration := range parsed.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || function.Body == nil || directed(function.Doc) {
			continue
		}
		ast.Inspect(function.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BlockStmt:
				mark(n.List)
			case *ast.CaseClause:
				mark(n.Body)
			case *ast.CommClause:
				mark(n.Body)
			}
			return true
		})
	}
	slices.Sort(offsets)
	var b strings.Builder
	from := 0
	for _, at := range offsets {
		b.WriteString(text[from:at])
		b.WriteString(pointsCall)
		from = at
	}
	b.WriteString(text[from:])
	return b.String(), nil
}

// directed reports whether a function has directives for the compiler, such as go:nosplit.
func directed(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:") })
}
