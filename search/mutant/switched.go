package mutant

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/watchsim/watchsim/sim/overlay"
)

// Variable is the environment variable that says which mutants are on in a program
// that was built with Switched, separated by commas; none if it is empty. Of those that
// edit the same function, the first of the program is.
const Variable = "WATCHSIM_MUTANT"

// ErrNotInFunction means that an edit lies outside of a function, so that it cannot
// be switched on and off.
var ErrNotInFunction = errors.New("a mutant's edit is not within one function")

// Switched returns the edits that put all of some mutants into one program, of which
// Variable switches some on. Building that takes as long as building one mutant.
//
// Each function with mutants gets a copy for each of them, with its edit, and begins
// by handing over to the copy that is on. dir says where a module lies.
func Switched(dir func(module string) (string, error), mutants []Mutant) ([]overlay.Patch, error) {
	type file struct{ module, name string }
	var order []file
	edited := map[file][]Mutant{}
	for _, m := range mutants {
		f := file{m.Module, m.File}
		if edited[f] == nil {
			order = append(order, f)
		}
		edited[f] = append(edited[f], m)
	}
	var patches []overlay.Patch
	declared := map[string]bool{} // the packages that have the variable
	for _, f := range order {
		folder, err := dir(f.module)
		if err != nil {
			return nil, err
		}
		for _, m := range edited[f] {
			if err := m.Check(folder); err != nil {
				return nil, err
			}
		}
		text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(f.name)))
		if err != nil {
			return nil, err
		}
		s, err := newSwitches(string(text), edited[f])
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", f.name, f.module, err)
		}
		pkg := path.Join(f.module, path.Dir(f.name))
		for _, p := range s.patches(!declared[pkg]) {
			p.Module, p.File = f.module, f.name
			patches = append(patches, p)
		}
		declared[pkg] = true
	}
	return patches, nil
}

// declarations are what each package with mutants has once.
const declarations = `
var switchedMutants = switchedStrings.Split(switchedOS.Getenv(%q), ",")

func switchedOn(name string) bool {
	for _, on := range switchedMutants {
		if on == name {
			return true
		}
	}
	return false
}
`

// switches are the functions of one file that have mutants.
type switches struct {
	text      string
	clause    string // the package clause
	functions []*ast.FuncDecl
	mutants   map[*ast.FuncDecl][]Mutant
}

func newSwitches(text string, mutants []Mutant) (*switches, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s := &switches{text: text, clause: "package " + parsed.Name.Name + "\n", mutants: map[*ast.FuncDecl][]Mutant{}}
	for _, m := range mutants {
		function := s.around(parsed, strings.Index(text, m.Anchor), len(m.Anchor))
		if function == nil {
			return nil, fmt.Errorf("%w: %s", ErrNotInFunction, m.Name)
		}
		if s.mutants[function] == nil {
			s.functions = append(s.functions, function)
		}
		s.mutants[function] = append(s.mutants[function], m)
	}
	return s, nil
}

// around returns the function that has a stretch of the file, nil if none has all of it.
func (s *switches) around(parsed *ast.File, start, length int) *ast.FuncDecl {
	for _, declaration := range parsed.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if ok && function.Body != nil && offset(function.Pos()) <= start && start+length <= offset(function.End())+1 {
			return function
		}
	}
	return nil
}

// offset is a position in a file set of one file.
func offset(p token.Pos) int { return int(p) - 1 }

func (s *switches) at(from, to token.Pos) string { return s.text[offset(from):offset(to)] }

// patches replace each function, and give the package the variable.
func (s *switches) patches(declare bool) []overlay.Patch {
	var patches []overlay.Patch
	if declare {
		patches = append(patches, overlay.Patch{Edit: overlay.Edit{Anchor: s.clause, Replacement: s.clause + "\nimport switchedOS \"os\"\nimport switchedStrings \"strings\"\n"}})
	}
	for i, function := range s.functions {
		p := overlay.Patch{Edit: overlay.Edit{Anchor: s.at(function.Pos(), function.End()) + "\n", Replacement: s.switched(function)}}
		if declare && i == 0 {
			p.Replacement += fmt.Sprintf(declarations, Variable)
		}
		patches = append(patches, p)
	}
	return patches
}

// switched is a function that hands over to its copies, and these.
func (s *switches) switched(function *ast.FuncDecl) string {
	signature, call := s.signature(function)
	var b strings.Builder
	b.WriteString(signature)
	b.WriteString("{\n")
	for _, m := range s.mutants[function] {
		fmt.Fprintf(&b, "	if switchedOn(%q) {\n", m.Name)
		if function.Type.Results != nil {
			fmt.Fprintf(&b, "		return %s\n", call(m))
		} else {
			fmt.Fprintf(&b, "		%s\n		return\n", call(m))
		}
		b.WriteString("	}\n")
	}
	b.WriteString(s.at(function.Body.Lbrace+1, function.End()))
	b.WriteString("\n")
	for _, m := range s.mutants[function] {
		// The anchor may end with the line on which the function does.
		whole := s.at(function.Pos(), function.End()) + "\n"
		whole = strings.Replace(whole, m.Anchor, m.Replacement, 1)
		name := offset(function.Name.End()) - offset(function.Pos())
		fmt.Fprintf(&b, "\n%s%s%s", whole[:name], suffix(m), whole[name:])
	}
	return b.String()
}

// suffix tells the copy of a function for one mutant from the others.
func suffix(m Mutant) string { return "Switched_" + strings.ReplaceAll(m.Name, "-", "_") }

// signature is a function up to its body, with every parameter named, and how its
// copy for a mutant is called.
func (s *switches) signature(function *ast.FuncDecl) (text string, call func(Mutant) string) {
	text = s.at(function.Pos(), function.Body.Lbrace)
	var arguments []string
	// From the last to the first, so that what is inserted moves nothing that is
	// still to be looked at.
	fields := function.Type.Params.List
	for i := len(fields) - 1; i >= 0; i-- {
		_, variadic := fields[i].Type.(*ast.Ellipsis)
		for j := len(fields[i].Names) - 1; j >= 0; j-- {
			name := fields[i].Names[j]
			argument := name.Name
			if argument == "_" {
				argument = fmt.Sprintf("switched%d_%d", i, j)
				start := offset(name.Pos()) - offset(function.Pos())
				text = text[:start] + argument + text[start+1:]
			}
			if variadic {
				argument += "..."
			}
			arguments = append([]string{argument}, arguments...)
		}
	}
	receiver := ""
	if function.Recv != nil && len(function.Recv.List[0].Names) > 0 {
		receiver = function.Recv.List[0].Names[0].Name + "."
	}
	return text, func(m Mutant) string {
		return fmt.Sprintf("%s%s%s(%s)", receiver, function.Name.Name, suffix(m), strings.Join(arguments, ", "))
	}
}
