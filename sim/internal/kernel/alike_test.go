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
const added = "../../overlay/files"

// seam pairs the types of this package with those of the files that the overlay adds.
var seam = map[string]struct{ file, name string }{
	"Params":      {"runtime_sim", "simParams"},
	"Counters":    {"runtime_sim", "simCounters"},
	"Goroutine":   {"runtime_sim", "simGoroutine"},
	"Change":      {"runtime_sim_explore", "simChange"},
	"Chosen":      {"runtime_sim_explore", "simChosen"},
	"functions":   {"runtime_sim_table", "simFunctions"},
	"Network":     {"net_sim", "simNetwork"},
	"Files":       {"syscall_sim", "simFiles"},
	"TraceRecord": {}, // an array there: see TestATraceRecordIsSoManyWords
}

// sameNumbers pairs the constants.
var sameNumbers = map[string]struct{ file, name string }{
	"tableTag":      {"runtime_sim_table", "simTableTag"},
	"tableVersion":  {"runtime_sim_table", "simTableVersion"},
	"GroupMax":      {"runtime_sim", "simGroupMax"},
	"Root":          {"syscall_sim", "simRoot"},
	"DescriptorMin": {"syscall_sim", "simDescriptorMin"},
	"Descriptors":   {"syscall_sim", "simDescriptors"},
	"Steered":       {"runtime_sim_explore", "simSteered"},
	"Observed":      {"runtime_sim_explore", "simObserved"},
	"AtPoint":       {"runtime_sim_explore", "simAtPoint"},
	"AtPick":        {"runtime_sim_explore", "simAtPick"},
	"AtSelect":      {"runtime_sim_explore", "simAtSelect"},
	"StopNone":      {"runtime_sim", "simStopNone"},
	"StopDecisions": {"runtime_sim", "simStopDecisions"},
	"StopTime":      {"runtime_sim", "simStopTime"},
	"StopDeadlock":  {"runtime_sim", "simStopDeadlock"},
	"StopAsked":     {"runtime_sim", "simStopAsked"},
	"TracePick":     {"runtime_sim", "simTracePick"},
	"TracePoint":    {"runtime_sim", "simTracePoint"},
	"TraceDraw":     {"runtime_sim", "simTraceDraw"},
	"TraceChoice":   {"runtime_sim", "simTraceChoice"},
}

func TestTheSeamIsTheSameOnBothSides(t *testing.T) {
	here := declared(t, "*.go")
	for name, other := range seam {
		if other.name == "" {
			continue
		}
		ours := fields(t, here, name)
		theirs := fields(t, declared(t, filepath.Join(added, other.file+".go.txt")), other.name)
		require.Equal(t, ours, theirs, "%s here, and %s in %s", name, other.name, other.file)
	}
	for name, other := range sameNumbers {
		there := declared(t, filepath.Join(added, other.file+".go.txt"))
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
	there := declared(t, filepath.Join(added, "runtime_sim.go.txt"))
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
		"[]simGoroutine", "[]Goroutine", "simDescriptors", "Descriptors")
	var list []string
	for _, field := range declaration.Fields.List {
		for _, name := range field.Names {
			list = append(list, strings.ToLower(name.Name)+" "+same.Replace(types.ExprString(field.Type)))
		}
	}
	return list
}
