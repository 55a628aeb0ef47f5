package importer

import (
	"cmp"
	"errors"
	"strings"
)

// whiteSpace is what may stand between two values.
const whiteSpace = " \t\r\n"

// MaxValue is how many bytes one value may have, so that a file of another kind is
// noticed before it fills the memory. A list of ten thousand pods fits.
const MaxValue = 256 << 20

// What can be wrong with the bytes that a [Splitter] is given.
var (
	// errNotObject means that something else than a JSON object begins.
	errNotObject = errors.New("expected a JSON object")
	// errTooLong means that a value has more than the most bytes.
	errTooLong = errors.New("the value is too long")
)

// Splitter finds the ends of JSON objects that follow one another, with or without
// white space between them. It does not look at what they hold: whether that is
// JSON is for the decoder to say. The zero value begins before an object.
type Splitter struct {
	// Limit is how many bytes a value may have, [MaxValue] if it is 0.
	Limit int

	value    []byte
	depth    int
	inString bool
	escaped  bool
}

// Within reports whether an object has begun and not ended.
func (s *Splitter) Within() bool { return s.depth > 0 }

// Take takes bytes up to the end of an object, and says how many it took. The
// object is not nil once it is whole; it is valid until the next call. Bytes that
// are left are for the next call.
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
