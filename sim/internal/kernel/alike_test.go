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

// The edited packages of Go cannot import this one, so the types of the interface are declared
// twice.
const added = "../../overlay/_src"

// TestTheSeamIsTheSameOnBothSides finds each type and constant of this package in the files that the
// overlay adds, under its name with sim before it.
func TestTheSeamIsTheSameOnBothSides(t *testing.T) {
	here, there := declared(t, "*.go"), declared(t, added+"/*/watchsim*.go")
	partner := func(name string) string { return "sim" + strings.ToUpper(name[:1]) + name[1:] }
	for name := range here.structs {
		if name != "TraceRecord" { // an array there: see TestATraceRecordIsSoManyWords
			require.Equal(t, fields(t, here, name), fields(t, there, partner(name)), name)
		}
	}
	for name, value := range here.constants {
		if name != "Missing" { // a sentence for users
			require.Equal(t, value, there.constants[partner(name)], name)
		}
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

// declarations are what files declare.
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
