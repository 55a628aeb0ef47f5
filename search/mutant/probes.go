package mutant

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"slices"
	"strings"
)

// ProbesVariable is the environment variable that names the file in which a binary built with
// Switched counts how often it reaches the place of each edit. The file is mapped, so that the
// counts survive however a run ends.
const ProbesVariable = "WATCHSIM_PROBES"

// probeBytes is the size of one count.
const probeBytes = 8

// Probes are the counts of a binary that was built with Switched.
type Probes struct {
	path    string
	mutants []Mutant
}

// NewProbes creates a file of counts, all of them 0, for a binary with these mutants.
func NewProbes(path string, mutants []Mutant) (Probes, error) {
	places := 0
	for _, m := range mutants {
		places += 1 + len(m.More)
	}
	return Probes{path, mutants}, os.WriteFile(path, make([]byte, places*probeBytes), 0o600)
}

// Counts returns how often the place of each edit of each mutant was reached so far. An edit
// outside of functions has no place, and counts 0.
func (p Probes) Counts() (map[string][]uint64, error) {
	text, err := os.ReadFile(p.path)
	if err != nil {
		return nil, fmt.Errorf("the counts of reached edits: %w", err)
	}
	counts := map[string][]uint64{}
	for _, m := range p.mutants {
		for range 1 + len(m.More) {
			counts[m.Name] = append(counts[m.Name], binary.LittleEndian.Uint64(text))
			text = text[probeBytes:]
		}
	}
	return counts, nil
}

// probed returns the body of a function after its opening brace, with counters at the place of each
// edit.
func (s *switches) probed(function *ast.FuncDecl) string {
	type insertion struct {
		at   token.Pos
		text string
	}
	var insertions []insertion
	for _, e := range s.edits[function] {
		start := strings.Index(s.text, e.Anchor)
		start += len(e.Anchor) - len(strings.TrimLeft(e.Anchor, " \t\n"))
		insertions = append(insertions, insertion{statementAt(function, token.Pos(start+1)), fmt.Sprintf(" switchedReached(%d); ", e.place)})
	}
	slices.SortStableFunc(insertions, func(a, b insertion) int { return cmp.Compare(a.at, b.at) })
	var b strings.Builder
	from := function.Body.Lbrace + 1
	for _, i := range insertions {
		b.WriteString(s.at(from, i.at))
		b.WriteString(i.text)
		from = i.at
	}
	b.WriteString(s.at(from, function.End()))
	return b.String()
}

// statementAt returns the beginning of the innermost statement that contains or follows a position;
// for a clause of a switch or a select, the beginning of its first statement.
func statementAt(function *ast.FuncDecl, position token.Pos) token.Pos {
	at := function.Body.Lbrace + 1
	ast.Inspect(function.Body, func(node ast.Node) bool {
		var list []ast.Stmt
		var begin, end token.Pos
		switch n := node.(type) {
		case *ast.BlockStmt:
			list, begin, end = n.List, n.Lbrace+1, n.Rbrace
		case *ast.CaseClause:
			list, begin, end = n.Body, n.Colon+1, n.End()
		case *ast.CommClause:
			list, begin, end = n.Body, n.Colon+1, n.End()
		default:
			return true
		}
		if position < begin || position >= end {
			return true
		}
		at = begin
		for i, statement := range list {
			if statement.End() <= position && i < len(list)-1 {
				continue
			}
			switch clause := statement.(type) {
			case *ast.CaseClause:
				at = clause.Colon + 1
			case *ast.CommClause:
				at = clause.Colon + 1
			default:
				at = statement.Pos()
			}
			break
		}
		return true
	})
	return at
}
