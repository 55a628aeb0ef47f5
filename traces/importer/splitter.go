package importer

import (
	"cmp"
	"errors"
	"strings"
)

// whiteSpace may separate two values.
const whiteSpace = " \t\r\n"

// MaxValue is the most bytes of one value, so that a file of another kind is noticed
// before it fills the memory. A list of ten thousand pods fits.
const MaxValue = 256 << 20

// What can be wrong with the bytes that a [Splitter] is given.
var (
	// errNotObject means that something other than a JSON object begins.
	errNotObject = errors.New("expected a JSON object")
	// errTooLong means that a value is longer than the limit.
	errTooLong = errors.New("the value is too long")
)

// Splitter finds the ends of consecutive JSON objects, with or without white space
// between them. It does not check their content, which the decoder does. The zero
// value begins before an object.
type Splitter struct {
	// Limit is the most bytes of a value, [MaxValue] if it is 0.
	Limit int

	value    []byte
	depth    int
	inString bool
	escaped  bool
}

// Within reports whether an object has begun but not ended.
func (s *Splitter) Within() bool { return s.depth > 0 }

// Take takes bytes up to the end of an object, and returns how many it took. The
// object is nil until it is complete, and valid until the next call. The caller
// passes the remaining bytes to the next call.
func (s *Splitter) Take(p []byte) (taken int, object []byte, err error) {
	if s.depth == 0 {
		s.value = s.value[:0]
	}
	begin := 0
	for i, c := range p {
		switch {
		case s.depth == 0 && strings.IndexByte(whiteSpace, c) >= 0:
			begin = i + 1
			continue
		case s.depth == 0 && c != '{':
			return i, nil, errNotObject
		case s.escaped:
			s.escaped = false
		case s.inString && c == '\\':
			s.escaped = true
		case c == '"':
			s.inString = !s.inString
		case s.inString:
		case c == '{' || c == '[':
			s.depth++
		case c == '}' || c == ']':
			s.depth--
		}
		if s.depth == 0 {
			s.value = append(s.value, p[begin:i+1]...)
			return i + 1, s.value, s.check()
		}
	}
	s.value = append(s.value, p[begin:]...)
	return len(p), nil, s.check()
}

func (s *Splitter) check() error {
	if len(s.value) > s.limit() {
		return errTooLong
	}
	return nil
}

func (s *Splitter) limit() int { return cmp.Or(s.Limit, MaxValue) }
