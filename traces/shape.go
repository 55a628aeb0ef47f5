package traces

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// shape is what JSON a struct takes: its fields, and which of them have to be
// there. Those are all that are not marked omitempty. encoding/json leaves a
// missing field at zero, which many fields can truly be; a history that was put
// together wrongly would be judged for something that never happened.
type shape struct {
	names    []string
	required []bool
	lists    []bool   // null is an empty list, and not nothing
	inner    []*shape // of a field that holds objects or a list of them, or nil
}

func shapeOf(of reflect.Type) *shape {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice:
		return shapeOf(of.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	s := &shape{}
	for i := range of.NumField() {
		name, options, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if name == "-" || name == "" {
			continue
		}
		s.names = append(s.names, name)
		s.required = append(s.required, options != "omitempty")
		s.lists = append(s.lists, of.Field(i).Type.Kind() == reflect.Slice)
		s.inner = append(s.inner, shapeOf(of.Field(i).Type))
	}
	return s
}

// missing returns the path of the first required field that a valid JSON value
// lacks, empty if there is none. null is as good as nothing. Elements of a list
// have the shape each.
func (s *shape) missing(data []byte) string {
	path, _ := s.scan(data, 0)
	return path
}

// scan looks at the value that begins at i or after it, and returns where it ends.
func (s *shape) scan(data []byte, i int) (missing string, next int) {
	i = skipSpace(data, i)
	switch data[i] {
	case '{':
		return s.scanObject(data, i+1)
	case '[':
		return s.scanList(data, i+1)
	}
	return "", skipValue(data, i)
}

func (s *shape) scanList(data []byte, i int) (missing string, next int) {
	for element := 0; ; element++ {
		if i = skipSpace(data, i); data[i] == ']' {
			return missing, i + 1
		}
		inner, after := s.scan(data, i)
		if inner != "" && missing == "" {
			missing = fmt.Sprintf("[%d].%s", element, inner)
		}
		if i = skipSpace(data, after); data[i] == ',' {
			i++
		}
	}
}

func (s *shape) scanObject(data []byte, i int) (missing string, next int) {
	var present uint64 // by index of the field; no record has as many as 64
	for {
		if i = skipSpace(data, i); data[i] == '}' {
			break
		}
		key := i
		i = skipValue(data, i)
		field := s.field(data[key:i])
		i = skipSpace(data, skipSpace(data, i)+1) // over the colon
		var inner string
		if null := data[i] == 'n'; field >= 0 && (!null || s.lists[field]) {
			present |= 1 << field
		}
		if field >= 0 && s.inner[field] != nil {
			inner, i = s.inner[field].scan(data, i)
		} else {
			i = skipValue(data, i)
		}
		if inner != "" && missing == "" {
			missing = s.names[field] + "." + inner
			if inner[0] == '[' {
				missing = s.names[field] + inner
			}
		}
		if i = skipSpace(data, i); data[i] == ',' {
			i++
		}
	}
	for field, required := range s.required {
		if required && present&(1<<field) == 0 {
			return s.names[field], i + 1
		}
	}
	return missing, i + 1
}

// field returns the index of the field that a quoted key names, -1 for none.
func (s *shape) field(quoted []byte) int {
	name := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		var unquoted string
		if json.Unmarshal(quoted, &unquoted) == nil {
			return slices.Index(s.names, unquoted)
		}
	}
	for i := range s.names {
		if s.names[i] == string(name) {
			return i
		}
	}
	return -1
}

func skipSpace(data []byte, i int) int {
	for data[i] == ' ' || data[i] == '\t' || data[i] == '\n' || data[i] == '\r' {
		i++
	}
	return i
}

// skipValue returns where the valid JSON value that begins at i ends.
func skipValue(data []byte, i int) int {
	switch data[i] {
	case '"':
		return skipString(data, i)
	case '{', '[':
		for depth := 0; ; {
			switch data[i] {
			case '"':
				i = skipString(data, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
	}
	for i < len(data) && !strings.ContainsRune(",]} \t\r\n", rune(data[i])) {
		i++
	}
	return i
}

func skipString(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// misfit says in a sentence why data could not be decoded.
func misfit(err error) string {
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) || mismatch.Type == nil {
		return err.Error()
	}
	expected := "an object"
	switch mismatch.Type.Kind() {
	case reflect.String:
		expected = "a string"
	case reflect.Bool:
		expected = "true or false"
	case reflect.Slice:
		expected = "a list"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		expected = "a whole number of 64 bits"
	}
	field := "its data"
	if mismatch.Field != "" {
		field = "field " + mismatch.Field
	}
	return fmt.Sprintf("%s: expected %s, found %s", field, expected, mismatch.Value)
}
