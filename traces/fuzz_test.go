package traces

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// FuzzReadHistory requires that for any bytes, the reader either says in one line what
// is wrong with them and where, with one of its errors, or returns a history that
// survives a round trip.
func FuzzReadHistory(f *testing.F) {
	whole, err := os.ReadFile(exampleFile)
	require.NoError(f, err)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	for _, damage := range [][2]string{
		{`"rv":2`, `"rv":-2`}, {`"rv":2`, `"rv":null`}, {`"id":3`, `"id":4`}, {`"kind":"fault"`, `"kind":"rumour"`},
		{`"data":{`, `"data":[`}, {`"data":{`, `"data":null,"x":{`}, {`"stream":5`, `"stream":99`}, {`"time":2`, `"time":9999999999`},
		{`"objects":[`, `"objects":[null,`}, {`"labels":{"app":"web"}`, `"labels":null`}, {"\n", "\r\n"}, {"\n", "\n\n"},
		{`"first"`, `"\ud800\u0000"`}, {`"version":4`, `"version":1e1`},
	} {
		f.Add(bytes.ReplaceAll(whole, []byte(damage[0]), []byte(damage[1])))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		header, h, err := ReadValidHistory(bytes.NewReader(text))
		if err != nil {
			known := errors.Is(err, ErrNotHistory) || errors.Is(err, ErrNewerVersion) || errors.Is(err, ErrTruncated) || errors.Is(err, ErrBadRecord)
			require.True(t, known, "%v", err)
			require.NotContains(t, err.Error(), "\n", "an error is one sentence")
			require.Regexp(t, `\bline [0-9]+\b`, err.Error(), "an error has a position")
			require.NotContains(t, err.Error(), "Go struct", "an error speaks of the file, not of this program")
			return
		}
		again, got, err := ReadValidHistory(strings.NewReader(written(t, header, h)))
		require.NoError(t, err)
		header.Version = HistoryVersion
		require.Equal(t, header, again)
		normalize(h)
		normalize(got)
		require.Equal(t, h, got)
	})
}

func TestLinesHaveALimit(t *testing.T) {
	text := `{"format":"watchsim.history","version":1}` + "\n" + strings.Repeat("x", maxLine+1<<20)
	_, _, err := ReadValidHistory(io.MultiReader(strings.NewReader(text), iotest.ErrReader(errors.New("it was read to its end"))))
	require.EqualError(t, err, "the history holds a bad record: line 2 is longer than 67108864 bytes, which is the most that is read")
}
