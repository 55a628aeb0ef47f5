package importer

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// readAll returns all values of a text, and the error that ended it.
func readAll(t *testing.T, in io.Reader, limit int) (texts []string, at []position, err error) {
	t.Helper()
	r, err := newValueReader("f", in)
	if err != nil {
		return nil, nil, err
	}
	r.Limit = limit
	for {
		v, err := r.Next()
		if err == io.EOF {
			return texts, at, nil
		}
		if err != nil {
			return texts, at, err
		}
		texts, at = append(texts, string(v.Text)), append(at, v.position)
	}
}

func TestValuesHavePositions(t *testing.T) {
	text := "{\"a\":\"}\\\"{\"}\n\n  {\n \"b\": [1,{}]\n}{\"c\":1}\r\n"
	for name, in := range map[string]io.Reader{
		"at once":     strings.NewReader(text),
		"byte a byte": iotest.OneByteReader(strings.NewReader(text)),
		"with gzip":   bytes.NewReader(zipped(t, text)),
	} {
		t.Run(name, func(t *testing.T) {
			texts, at, err := readAll(t, in, 0)
			require.NoError(t, err)
			require.Equal(t, []string{`{"a":"}\"{"}`, "{\n \"b\": [1,{}]\n}", `{"c":1}`}, texts)
			require.Equal(t, []position{{"f", 1, 0}, {"f", 3, 16}, {"f", 5, 32}}, at)
		})
	}
}

func TestFlawsHavePositions(t *testing.T) {
	for name, row := range map[string]struct{ text, says string }{
		"no object":    {"{}\n\n [1]", `f:3 (byte 5): expected a JSON object, found "[1]"`},
		"cut off":      {"{}\n{\"a\":\n", "f:3 (byte 9): the file ends in the middle of a value that begins at line 2"},
		"cut in quote": {"{\"a", "f:1 (byte 3): the file ends in the middle of a value that begins at line 1"},
		"too long":     {"{}\n{\"a\":\"" + strings.Repeat("x", 50) + "\"}", "f:2 (byte 3): expected a value of at most 40 bytes, found a longer one"},
		"broken gzip":  {"\x1f\x8bxxxxxxxxxxxxxx", "f:1 (byte 0): expected gzip, as the first bytes say, found a broken file: gzip: invalid header"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := readAll(t, strings.NewReader(row.text), 40)
			require.EqualError(t, err, row.says)
			require.Equal(t, strings.HasPrefix(name, "cut"), errors.Is(err, errCut))
		})
	}
	_, _, err := readAll(t, bytes.NewReader(zipped(t, "{\"a\":1}")[:24]), 0)
	require.ErrorIs(t, err, errCut)
}

func TestDecodingErrorsPointIntoTheValue(t *testing.T) {
	v := jsonValue{position{"f", 7, 100}, []byte("{\n\"a\": x}")}
	var into struct {
		A int `json:"a"`
	}
	require.EqualError(t, v.Decode(&into), "f:8 (byte 108): expected JSON, found invalid character 'x' looking for beginning of value")
	v.Text = []byte("{\n\"a\": \"x\"}")
	require.EqualError(t, v.Decode(&into), "f:8 (byte 110): expected another type of value in the field a, found a JSON string")
}

func TestValuesHaveALimit(t *testing.T) {
	_, _, err := readAll(t, io.MultiReader(strings.NewReader(`{"`+strings.Repeat("x", 2<<20)), iotest.ErrReader(errors.New("it was read to its end"))), 1<<20)
	require.EqualError(t, err, "f:1 (byte 0): expected a value of at most 1048576 bytes, found a longer one")
}

func zipped(t *testing.T, text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// FuzzSplitter cuts arbitrary input into two pieces. The result is the same as for the
// whole, and as that of the reader.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte(`{"a":"}\"{"} {"b":[1,{}]}`), 5)
	f.Add([]byte("{\"a\":\n{}}\n\n[1]"), 3)
	f.Add([]byte(`{]}{"`), 0)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		whole, wholeErr := split(text)
		cut = min(max(cut, 0), len(text))
		pieces, piecesErr := split(text[:cut], text[cut:])
		require.Equal(t, whole, pieces)
		require.Equal(t, wholeErr, piecesErr)
		if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
			return
		}
		reader, err := newValueReader("f", bytes.NewReader(text))
		require.NoError(t, err)
		for _, want := range whole {
			value, err := reader.Next()
			require.NoError(t, err)
			require.Equal(t, want, string(value.Text))
			require.Equal(t, want, string(text[value.Byte:value.Byte+int64(len(want))]), "the position")
			require.Equal(t, 1+bytes.Count(text[:value.Byte], []byte{'\n'}), value.Line)
		}
		_, err = reader.Next()
		switch {
		case wholeErr != nil:
			require.ErrorIs(t, err, wholeErr)
		case err != io.EOF:
			require.ErrorIs(t, err, errCut)
		}
	})
}

// split returns the objects in pieces, up to the first flaw.
func split(pieces ...[]byte) (objects []string, err error) {
	var s Splitter
	for _, piece := range pieces {
		for len(piece) > 0 {
			taken, object, err := s.Take(piece)
			if err != nil {
				return objects, err
			}
			if piece = piece[taken:]; object != nil {
				objects = append(objects, string(object))
			}
		}
	}
	return objects, nil
}
