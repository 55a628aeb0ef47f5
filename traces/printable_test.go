package traces

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"web-0":                     "web-0",
		"größe 大":                   "größe 大",
		"\x1b[2J\a\x00\x7f":         `\u001b[2J\u0007\u0000\u007f`,
		"a\u009bb":                  `a\u009bb`,
		"a\u202eb\u2066c\u200f":     `a\u202eb\u2066c\u200f`,
		"x\nPASSED  out\r\t":        `x\u000aPASSED  out\u000d\u0009`,
		"\xff\U000e0041":            `\xff\udb40\udc41`,
		`\u001b`:                    `\\u001b`,
		strings.Repeat("a", 253):    strings.Repeat("a", 253),
		strings.Repeat("ä", 50_000): strings.Repeat("ä", 32) + "...[50000 characters, SHA-256 5f734227]",
	} {
		require.Equal(t, want, Printable(text))
	}
}

// TestPrintableHistory has an unprintable text in every string of a history.
func TestPrintableHistory(t *testing.T) {
	text := written(t, Header{Target: "kubernetes", Attributes: map[string]string{"n": "\x1b"}}, example())
	text = strings.ReplaceAll(text, "apiserver-0", `apiserver\u202e\n`)
	text = strings.ReplaceAll(text, `"name":"a"`, `"name":"a\u001b"`)
	header, h, err := ReadValidHistory(strings.NewReader(text))
	require.NoError(t, err)
	h.Operations[0].Selector = model.Selector{Labels: map[string]string{"\a": "\b"}}
	PrintableHistory(&header, h)
	var printed bytes.Buffer
	require.NoError(t, WriteHistory(&printed, header, h))
	require.Contains(t, printed.String(), `apiserver\\u202e\\u000a`)
	require.Contains(t, printed.String(), `"name":"a\\u001b"`)
	require.Contains(t, printed.String(), `"labels":{"\\u0007":"\\u0008"}`)
	require.Contains(t, printed.String(), `"n":"\\u001b"`)
	require.NotRegexp(t, `[^\\]\\u00[01]`, printed.String())
	require.NoError(t, Validate(h))
}

func TestPrintableWriter(t *testing.T) {
	const text = "a\tü大\n\x1b]0;x\a\u202e\u009b\U000e0041"
	encoded, err := json.Marshal(text)
	require.NoError(t, err)
	for name, through := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader} {
		t.Run(name, func(t *testing.T) {
			var plain, object bytes.Buffer
			_, err := io.Copy(PrintableWriter(&plain), through(strings.NewReader(text)))
			require.NoError(t, err)
			require.Equal(t, "a\tü大\n"+`\u001b]0;x\u0007\u202e\u009b\udb40\udc41`, plain.String())
			_, err = io.Copy(PrintableWriter(&object), through(bytes.NewReader(encoded)))
			require.NoError(t, err)
			require.NotContains(t, object.String(), "\u202e")
			var decoded string
			require.NoError(t, json.Unmarshal(object.Bytes(), &decoded))
			require.Equal(t, text, decoded)
		})
	}
}
