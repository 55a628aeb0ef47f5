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
	"slices"
	"strconv"
	"strings"

	"github.com/watchsim/watchsim/sim/overlay"
)

// Variable is the environment variable that lists the mutants to switch on in a binary built with
// Switched, separated by commas; none if it is empty. Of several that edit the same function, only
// the first of the binary is on.
const Variable = "WATCHSIM_MUTANT"

// ErrNotInFunction means that an edit is not within a function, so that it cannot be switched on
// and off.
var ErrNotInFunction = errors.New("a mutant's edit is not within one function")

// ErrNotOnce means that an anchor of a mutant with several edits is created by another of its edits.
var ErrNotOnce = errors.New("a mutant's anchor does not occur exactly once in the released file")

// Switched returns the edits that put several mutants into one binary, where Variable switches them
// on. Building that takes as long as building one mutant.
//
// Each function with mutants gets a copy for each of them, with its edits, and begins by calling
// the copy that is on. What a mutant adds outside of functions, such as a field or a function, is
// always present. The original counts how often it reaches the place of each edit if ProbesVariable
// names a file. dir returns the folder of a module.
func Switched(dir func(module string) (string, error), mutants []Mutant) ([]overlay.Patch, error) {
	files, places, err := switchesOf(dir, mutants)
	if err != nil {
		return nil, err
	}
	var patches []overlay.Patch
	declared := map[string]bool{} // packages that declare the variable
	for _, s := range files {
		pkg := path.Join(s.module, path.Dir(s.name))
		for _, p := range s.patches(!declared[pkg], places) {
			p.Module, p.File = s.module, s.name
			patches = append(patches, p)
		}
		declared[pkg] = true
	}
	return patches, nil
}

// Overlaps returns a sentence for each two mutants that edit one function, so that they cannot be on together.
func Overlaps(dir func(module string) (string, error), mutants []Mutant) ([]string, error) {
	files, _, err := switchesOf(dir, mutants)
	if err != nil {
		return nil, err
	}
	var overlaps []string
	for _, s := range files {
		for _, function := range s.functions {
			first := s.edits[function][0].mutant
			for _, e := range s.edits[function] {
				if e.mutant != first {
					overlaps = append(overlaps, fmt.Sprintf("%s and %s edit %s in %s", first, e.mutant, function.Name.Name, s.name))
				}
			}
		}
	}
	slices.Sort(overlaps)
	return slices.Compact(overlaps), nil
}

// switchesOf returns the switches of all files that mutants edit, in the order of their first edits, and the number of edits.
func switchesOf(dir func(module string) (string, error), mutants []Mutant) (files []*switches, places int, err error) {
	type file struct{ module, name string }
	var order []file
	edited := map[file][]placed{}
	for _, m := range mutants {
		if err := Check(dir, m); err != nil {
			return nil, 0, err
		}
		for _, p := range m.Patches() {
			f := file{p.Module, p.File}
			if edited[f] == nil {
				order = append(order, f)
			}
			edited[f] = append(edited[f], placed{p.Edit, m.Name, places})
			places++
		}
	}
	for _, f := range order {
		folder, err := dir(f.module)
		if err != nil {
			return nil, 0, err
		}
		text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(f.name)))
		if err != nil {
			return nil, 0, err
		}
		s, err := newSwitches(string(text), edited[f])
		if err != nil {
			return nil, 0, fmt.Errorf("%s of %s: %w", f.name, f.module, err)
		}
		s.module, s.name = f.module, f.name
		files = append(files, s)
	}
	return files, places, nil
}

// placed is an edit of a mutant, with the number of its place in the binary.
type placed struct {
	overlay.Edit
	mutant string
	place  int
}

// imports and declarations are added once to each package with mutants.
const (
	imports = `
import switchedBinary "encoding/binary"
import switchedOS "os"
import switchedStrings "strings"
import switchedSyscall "syscall"
`
	declarations = `
var switchedMutants = switchedStrings.Split(switchedOS.Getenv(%q), ",")

func switchedOn(name string) bool {
	for _, on := range switchedMutants {
		if on == name {
			return true
		}
	}
	return false
}

var switchedCounts = switchedMapped()

func switchedMapped() []byte {
	name := switchedOS.Getenv(%q)
	if name == "" {
		return nil
	}
	file, err := switchedSyscall.Open(name, switchedSyscall.O_RDWR, 0)
	if err != nil {
		panic("cannot open " + name + ": " + err.Error())
	}
	counts, err := switchedSyscall.Mmap(file, 0, %d, switchedSyscall.PROT_READ|switchedSyscall.PROT_WRITE, switchedSyscall.MAP_SHARED)
	if err != nil {
		panic("cannot map " + name + ": " + err.Error())
	}
	return counts
}

func switchedReached(place int) {
	if switchedCounts != nil {
		count := switchedCounts[8*place:]
		switchedBinary.LittleEndian.PutUint64(count, switchedBinary.LittleEndian.Uint64(count)+1)
	}
}
`
)

// switches are the functions of a file that have mutants.
type switches struct {
	module    string
	name      string // of the file
	text      string
	clause    string // the package clause
	functions []*ast.FuncDecl
	edits     map[*ast.FuncDecl][]placed
	outside   []placed // what mutants add outside of functions
}

func newSwitches(text string, edits []placed) (*switches, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s := &switches{text: text, clause: "package " + parsed.Name.Name + "\n", edits: map[*ast.FuncDecl][]placed{}}
	for _, e := range edits {
		function := s.around(parsed, strings.Index(text, e.Anchor), len(e.Anchor))
		switch {
		case strings.Count(text, e.Anchor) != 1:
			return nil, fmt.Errorf("%w: %s: %s", ErrNotOnce, e.mutant, e.Anchor)
		case function == nil && strings.Contains(e.Replacement, e.Anchor):
			s.outside = append(s.outside, e)
			continue
		case function == nil:
			return nil, fmt.Errorf("%w: %s", ErrNotInFunction, e.mutant)
		case s.edits[function] == nil:
			s.functions = append(s.functions, function)
		}
		s.edits[function] = append(s.edits[function], e)
	}
	return s, nil
}

// around returns the function that contains a range of the file, nil if none does.
func (s *switches) around(parsed *ast.File, start, length int) *ast.FuncDecl {
	for _, declaration := range parsed.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if ok && function.Body != nil && offset(function.Pos()) <= start && start+length <= offset(function.End())+1 {
			return function
		}
	}
	return nil
}

// offset returns the offset of a position in a file set of one file.
func offset(p token.Pos) int { return int(p) - 1 }

func (s *switches) at(from, to token.Pos) string { return s.text[offset(from):offset(to)] }

// patches replace each function, and declare the package's variables.
func (s *switches) patches(declare bool, places int) []overlay.Patch {
	var patches []overlay.Patch
	for _, e := range s.outside {
		patches = append(patches, overlay.Patch{Edit: overlay.Edit{Anchor: e.Anchor, Replacement: e.Replacement}})
	}
	if declare {
		patches = append(patches, overlay.Patch{Edit: overlay.Edit{Anchor: s.clause, Replacement: s.clause + imports}})
	}
	for _, function := range s.functions {
		p := overlay.Patch{Edit: overlay.Edit{Anchor: s.at(function.Pos(), function.End()) + "\n", Replacement: s.switched(function)}}
		if declare {
			p.Replacement += fmt.Sprintf(declarations, Variable, ProbesVariable, places*probeBytes)
			declare = false
		}
		patches = append(patches, p)
	}
	return patches
}

// switched returns a function that dispatches to its copies, and the copies.
func (s *switches) switched(function *ast.FuncDecl) string {
	signature, call := s.signature(function)
	var b strings.Builder
	b.WriteString(signature)
	b.WriteString("{\n")
	copies := s.copies(function)
	for _, c := range copies {
		fmt.Fprintf(&b, "	if switchedOn(%s) {\n", strings.ReplaceAll(strconv.Quote(c.names), ",", `") && switchedOn("`))
		if function.Type.Results != nil {
			fmt.Fprintf(&b, "		return %s\n", call(c.names))
		} else {
			fmt.Fprintf(&b, "		%s\n		return\n", call(c.names))
		}
		b.WriteString("	}\n")
	}
	b.WriteString(s.probed(function))
	b.WriteString("\n")
	for _, c := range copies {
		end := offset(function.Name.End()) - offset(function.Pos())
		fmt.Fprintf(&b, "\n%s%s%s", c.text[:end], suffix(c.names), c.text[end:])
	}
	return b.String()
}

// edited is a copy of a function with the edits of a mutant, or of a mutant and a fix.
type edited struct{ names, text string }

// copies returns the copies of a function. One with a mutant and a fix precedes the one with the
// mutant only: bugs are hunted in code whose own bugs are fixed.
func (s *switches) copies(function *ast.FuncDecl) (copies []edited) {
	var order []string
	for _, e := range s.edits[function] {
		if !slices.Contains(order, e.mutant) {
			order = append(order, e.mutant)
		}
	}
	whole := s.at(function.Pos(), function.End()) + "\n" // an anchor may end with the function's last line
	with := func(text, name string) (_ string, err error) {
		for _, e := range s.edits[function] {
			if e.mutant == name && err == nil {
				text, err = e.Apply(text)
			}
		}
		return text, err
	}
	for _, name := range order {
		text, _ := with(whole, name)
		for _, fix := range order {
			if IsFix(name) || !IsFix(fix) {
				continue
			}
			if both, err := with(text, fix); err == nil { // they edit different places
				copies = append(copies, edited{name + "," + fix, both})
			}
		}
		copies = append(copies, edited{name, text})
	}
	return copies
}

// suffix distinguishes the copy of a function for a mutant from the others.
func suffix(names string) string {
	return "Switched_" + strings.NewReplacer("-", "_", ",", "_").Replace(names)
}

// signature returns a function up to its body, with every parameter named, and the call of its copy
// for a mutant.
func (s *switches) signature(function *ast.FuncDecl) (text string, call func(name string) string) {
	text = s.at(function.Pos(), function.Body.Lbrace)
	var arguments []string
	// Insert from the last to the first, so that earlier positions stay valid.
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
	return text, func(name string) string {
		return fmt.Sprintf("%s%s%s(%s)", receiver, function.Name.Name, suffix(name), strings.Join(arguments, ", "))
	}
}
