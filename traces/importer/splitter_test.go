package importer

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

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
