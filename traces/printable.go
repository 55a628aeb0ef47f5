package traces

import (
	"crypto/sha256"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/watchsim/watchsim/model"
)

// Names in a history come from untrusted servers and files. Printed as they are, they
// could move the cursor, hide or reorder text, or forge a line of a report.

const (
	// maxPrintable is the most bytes of a text that is printed in full. No name in
	// Kubernetes is longer.
	maxPrintable = 253
	// printedBeginning is how many bytes of a longer text are printed.
	printedBeginning = 64
)

// Printable returns an untrusted text in a form that is safe to print: on one line,
// without control and format characters, and truncated, with its length, if it is
// long. Different texts remain different.
func Printable(text string) string {
	rest := ""
	if len(text) > maxPrintable {
		rest = fmt.Sprintf("...[%d characters, SHA-256 %.4x]", utf8.RuneCountInString(text), sha256.Sum256([]byte(text)))
		end := printedBeginning
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	return escape(strings.ReplaceAll(text, `\`, `\\`), "") + rest
}

// PrintableHistory makes all texts of a history printable, in place.
func PrintableHistory(header *Header, h *model.History) {
	makePrintable(reflect.ValueOf(header).Elem())
	makePrintable(reflect.ValueOf(h).Elem())
}

func makePrintable(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if text := v.String(); !isPlain(text) {
			v.SetString(Printable(text))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			makePrintable(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			makePrintable(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			makePrintable(v.Index(i))
		}
	case reflect.Map: // always from string to string
		if texts, _ := v.Interface().(map[string]string); texts != nil {
			printable := make(map[string]string, len(texts))
			for name, value := range texts {
				printable[Printable(name)] = Printable(value)
			}
			v.Set(reflect.ValueOf(printable))
		}
	}
}

// isPlain reports whether a text is its own printable form, which nearly all are.
func isPlain(text string) bool {
	return len(text) <= maxPrintable && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == '\\' })
}

// escape escapes invisible characters as \uXXXX, except those to keep.
func escape(text, keep string) string {
	var b strings.Builder
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case unicode.IsGraphic(r) || strings.ContainsRune(keep, r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// PrintableWriter returns a writer that escapes all control and format characters
// other than newline and tab, as the last line of defence in front of a terminal.
// Escaped JSON is equivalent JSON.
func PrintableWriter(w io.Writer) io.Writer { return &printableWriter{to: w} }

type printableWriter struct {
	to   io.Writer
	held []byte // the first bytes of an incomplete character
}

// Write implements io.Writer.
func (w *printableWriter) Write(p []byte) (int, error) {
	text := append(w.held, p...)
	whole := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if begin := text[len(text)-back:]; utf8.RuneStart(begin[0]) {
			if !utf8.FullRune(begin) {
				whole -= back
			}
			break
		}
	}
	if _, err := io.WriteString(w.to, escape(string(text[:whole]), "\n\t")); err != nil {
		return 0, err
	}
	w.held = text[whole:]
	return len(p), nil
}
