package swarm

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// ErrProtocol means that a worker was built from other source than the coordinator, so that they
// may misunderstand each other.
var ErrProtocol = errors.New("the worker was built from other source than this command; run `make build` and try again")

// protocol identifies the format of jobs and answers. It is derived from their types, so that
// nobody has to remember to change it.
var protocol = func() string {
	var b strings.Builder
	describeType(&b, reflect.TypeFor[Job](), map[reflect.Type]bool{})
	describeType(&b, reflect.TypeFor[Answer](), map[reflect.Type]bool{})
	return fmt.Sprintf("%x", sha256.Sum256([]byte(b.String())))[:12]
}()

// describeType writes the JSON shape of a type.
func describeType(b *strings.Builder, t reflect.Type, above map[reflect.Type]bool) {
	if above[t] {
		b.WriteString(t.String())
		return
	}
	above[t] = true
	defer delete(above, t)
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		b.WriteString("[]")
		describeType(b, t.Elem(), above)
	case reflect.Map:
		b.WriteString("map ")
		describeType(b, t.Key(), above)
		describeType(b, t.Elem(), above)
	case reflect.Struct:
		b.WriteString("{")
		for field := range t.Fields() {
			fmt.Fprintf(b, "%s %q ", field.Name, field.Tag.Get("json"))
			describeType(b, field.Type, above)
		}
		b.WriteString("}")
	default:
		b.WriteString(t.Kind().String() + " ")
	}
}
