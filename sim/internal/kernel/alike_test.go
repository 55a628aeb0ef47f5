package kernel_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The edited packages of Go cannot import this one, so that what goes through the seam is
// declared twice.
const added = "../../overlay/_src"

// seam pairs the types of this package with those of the files that the overlay adds.
var seam = map[string]struct{ file, name string }{
	"Params":      {"runtime/watchsim", "simParams"},
	"Counters":    {"runtime/watchsim", "simCounters"},
	"Goroutine":   {"runtime/watchsim", "simGoroutine"},
	"Change":      {"runtime/watchsim_explore", "simChange"},
	"Chosen":      {"runtime/watchsim_explore", "simChosen"},
	"functions":   {"runtime/watchsim_table", "simFunctions"},
	"Network":     {"net/watchsim", "simNetwork"},
	"Processes":   {"os/watchsim", "simProcesses"},
	"Files":       {"syscall/watchsim", "simFiles"},
	"TraceRecord": {}, // an array there: see TestATraceRecordIsSoManyWords
}

// sameNumbers pairs the constants.
var sameNumbers = map[string]struct{ file, name string }{
	"tableTag":      {"runtime/watchsim_table", "simTableTag"},
	"tableVersion":  {"runtime/watchsim_table", "simTableVersion"},
	"GroupMax":      {"runtime/watchsim", "simGroupMax"},
	"Root":          {"syscall/watchsim", "simRoot"},
	"DescriptorMin": {"syscall/watchsim", "simDescriptorMin"},
	"Descriptors":   {"syscall/watchsim", "simDescriptors"},
	"Steered":       {"runtime/watchsim_explore", "simSteered"},
	"Observed":      {"runtime/watchsim_explore", "simObserved"},
	"KindPick":      {"runtime/watchsim", "simKindPick"},
	"KindYield":     {"runtime/watchsim", "simKindYield"},
	"KindStall":     {"runtime/watchsim", "simKindStall"},
	"KindFocus":     {"runtime/watchsim", "simKindFocus"},
	"KindLength":    {"runtime/watchsim", "simKindLength"},
	"KindSelect":    {"runtime/watchsim", "simKindSelect"},
	"KindPoint":     {"runtime/watchsim", "simKindPoint"},
	"StopNone":      {"runtime/watchsim", "simStopNone"},
	"StopDecisions": {"runtime/watchsim", "simStopDecisions"},
	"StopTime":      {"runtime/watchsim", "simStopTime"},
	"StopDeadlock":  {"runtime/watchsim", "simStopDeadlock"},
	"StopAsked":     {"runtime/watchsim", "simStopAsked"},
	"TracePick":     {"runtime/watchsim", "simTracePick"},
	"TracePoint":    {"runtime/watchsim", "simTracePoint"},
	"TraceDraw":     {"runtime/watchsim", "simTraceDraw"},
	"TraceDecision": {"runtime/watchsim", "simTraceDecision"},
}

func TestTheSeamIsTheSameOnBothSides(t *testing.T) {
	here := declared(t, "*.go")
	for name, other := range seam {
		if other.name == "" {
			continue
		}
		ours := fields(t, here, name)
		theirs := fields(t, declared(t, filepath.Join(added, other.file+".go")), other.name)
		require.Equal(t, ours, theirs, "%s here, and %s in %s", name, other.name, other.file)
	}
	for name, other := range sameNumbers {
		there := declared(t, filepath.Join(added, other.file+".go"))
		require.Equal(t, here.constants[name], there.constants[other.name], "%s here, and %s in %s", name, other.name, other.file)
		require.NotEmpty(t, here.constants[name], name)
	}
}

func TestATraceRecordIsSoManyWords(t *testing.T) {
	words := 0
	for _, field := range fields(t, declared(t, "*.go"), "TraceRecord") {
		_, field, _ = strings.Cut(field, " ")
		count := 1
		if text, array := strings.CutPrefix(field, "["); array {
			var err error
			text, _, _ = strings.Cut(text, "]")
			count, err = strconv.Atoi(text)
			require.NoError(t, err)
		}
		require.True(t, strings.HasSuffix(field, "uintptr"), field)
		words += count
	}
	there := declared(t, filepath.Join(added, "runtime/watchsim.go"))
	require.Equal(t, there.constants["simTraceWords"], strconv.Itoa(words))
}

// Every struct of the seam has a partner, so that a new one is not forgotten.
func TestNoTypeOfTheSeamIsForgotten(t *testing.T) {
	for name := range declared(t, "*.go").structs {
		require.Contains(t, seam, name)
	}
	for name := range declared(t, "*.go").constants {
		if name != "Missing" {
			require.Contains(t, sameNumbers, name)
		}
	}
}

// declarations are what files of one package declare.
type declarations struct {
	structs   map[string]*ast.StructType
	constants map[string]string // by their text
}

func declared(t *testing.T, pattern string) declarations {
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files, pattern)
	all := declarations{map[string]*ast.StructType{}, map[string]string{}}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				return false
			case *ast.TypeSpec:
				if fields, ok := n.Type.(*ast.StructType); ok {
					all.structs[n.Name.Name] = fields
				}
			case *ast.GenDecl:
				if n.Tok == token.CONST {
					all.constantsOf(n)
				}
			}
			return true
		})
	}
	return all
}

func (d declarations) constantsOf(declaration *ast.GenDecl) {
	for _, spec := range declaration.Specs {
		spec := spec.(*ast.ValueSpec)
		for i, value := range spec.Values {
			d.constants[spec.Names[i].Name] = types.ExprString(value)
		}
	}
}

// fields are a struct's fields, in order, as if all were of one package and exported.
func fields(t *testing.T, all declarations, name string) []string {
	declaration := all.structs[name]
	require.NotNil(t, declaration, name)
	same := strings.NewReplacer("syscall.", "", "net.", "", "*simParams", "*Params", "*simCounters", "*Counters",
		"simKind", "Kind", "[]simGoroutine", "[]Goroutine", "simDescriptors", "Descriptors")
	var list []string
	for _, field := range declaration.Fields.List {
		for _, name := range field.Names {
			list = append(list, strings.ToLower(name.Name)+" "+same.Replace(types.ExprString(field.Type)))
		}
	}
	return list
}
