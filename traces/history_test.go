package traces

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/model"
)

func written(t require.TestingT, header Header, h *model.History) string {
	var out bytes.Buffer
	require.NoError(t, WriteHistory(&out, header, h))
	return out.String()
}

func TestHistoryReadsBackAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := rapid.Make[model.History]().Draw(t, "history")
		for i := range h.Streams {
			h.Streams[i].ID = i + 1
			for j := range h.Streams[i].Events {
				h.Streams[i].Events[j].Stream = i + 1
			}
		}
		normalize(&h)
		header := Header{Seed: rapid.Uint64().Draw(t, "seed"), Target: rapid.String().Draw(t, "target")}
		text := written(t, header, &h)

		gotHeader, got, err := readHistory(strings.NewReader(text))
		require.NoError(t, err)
		header.Format, header.Version = HistoryFormat, HistoryVersion
		require.Equal(t, header, gotHeader)
		normalize(got.history)
		require.Equal(t, &h, got.history)
	})
}

// normalize makes empty slices and maps nil, as the format does not distinguish them.
func normalize(h *model.History) { emptyToNil(reflect.ValueOf(h).Elem()) }

func emptyToNil(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			emptyToNil(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			emptyToNil(v.Field(i))
		}
	case reflect.Slice, reflect.Map:
		if v.Len() == 0 {
			v.SetZero()
		}
		for i := 0; v.Kind() == reflect.Slice && i < v.Len(); i++ {
			emptyToNil(v.Index(i))
		}
	}
}

func TestUnreadableHistories(t *testing.T) {
	whole := written(t, Header{}, example())
	lines := strings.SplitAfter(whole, "\n")
	replaced := func(line int, with string) string {
		changed := slices.Clone(lines)
		changed[line-1] = with
		return strings.Join(changed, "")
	}
	for _, row := range []struct {
		name, text string
		is         error
		says       string
	}{
		{"empty", "", ErrNotHistory, "not a watchsim history: the file is empty, and has no line 1"},
		{"another text", "hello\n", ErrNotHistory, "not a watchsim history: line 1 is not a header that names a format"},
		{"another JSON", `{"a":1}` + "\n", ErrNotHistory, "not a watchsim history: line 1 is not a header that names a format"},
		{"another format", `{"format":"watchsim.tape","version":1}` + "\n", ErrNotHistory,
			`not a watchsim history: line 1 names the format "watchsim.tape" instead of "watchsim.history"`},
		{"newer", `{"format":"watchsim.history","version":5}` + "\n", ErrNewerVersion,
			"the history is of a newer version, 5 on line 1: this build reads up to version 4"},
		{"no version", `{"format":"watchsim.history"}` + "\n", ErrNotHistory,
			"not a watchsim history: line 1 names version 0, but versions start at 1"},
		{"cut in a line", whole[:len(whole)-10], ErrTruncated, "the history is truncated: line 42 ends in the middle of a record"},
		{"cut between lines", strings.Join(lines[:41], ""), ErrTruncated, "the history is truncated: it ends after line 41 without an end record"},
		{"header only", lines[0], ErrTruncated, "the history is truncated: it ends after line 1 without an end record"},
		{"not JSON", replaced(3, "{oops}\n"), ErrBadRecord,
			"the history holds a bad record: line 3 is not a JSON record: invalid character 'o' looking for beginning of object key string"},
		{"unknown kind", replaced(3, `{"kind":"rumour","data":{}}`+"\n"), ErrBadRecord,
			`the history holds a bad record: line 3 has the unknown kind "rumour"`},
		{"no data", replaced(3, `{"kind":"fault"}`+"\n"), ErrBadRecord, "the history holds a bad record: line 3 has no data"},
		{"wrong data", replaced(3, `{"kind":"fault","data":{"begin":"soon"}}`+"\n"), ErrBadRecord,
			"the history holds a bad record: line 3 has data that does not fit the kind fault: field begin: expected a whole number of 64 bits, found string"},
		{"event without its stream", replaced(19, ""), ErrBadRecord,
			"the history holds a bad record: line 19 is an event of stream 5, which no line before it opened"},
		{"stream twice", replaced(20, lines[18]), ErrBadRecord, "the history holds a bad record: line 20 opens stream 5 a second time"},
		{"line lost", replaced(3, ""), ErrBadRecord, "the history holds a bad record: line 41 says that 40 records came before it, but 39 did"},
		{"more after the end", whole + lines[1], ErrBadRecord, "the history holds a bad record: line 43 comes after the end record"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, h, err := ReadValidHistory(strings.NewReader(row.text))
			require.Nil(t, h)
			require.ErrorIs(t, err, row.is)
			require.EqualError(t, err, row.says)
		})
	}
}

func TestAHistoryMayBeWrittenInOtherWays(t *testing.T) {
	text := written(t, Header{}, example())
	for name, other := range map[string]string{
		"no newline at its end":         strings.TrimSuffix(text, "\n"),
		"an unknown field":              strings.Replace(text, `"name":"reset"`, `"name":"reset","colour":"red"`, 1),
		"a key with escapes and spaces": strings.Replace(text, `"data":{"rv":4,"time":60000000}`, `"data" : { "\u0072v" : 4 , "time" : 60000000 }`, 1),
	} {
		require.NotEqual(t, text, other, name)
		_, h, err := ReadValidHistory(strings.NewReader(other))
		require.NoError(t, err, name)
		require.Equal(t, example(), h, name)
	}
}

func TestOlderHistoriesAreRead(t *testing.T) {
	withoutPatches, withoutStanding, withoutCensuses := example(), example(), example()
	for op := range model.Each(withoutPatches.Operations) {
		op.Patch = nil
	}
	withoutStanding.Leaders, withoutStanding.Windows = nil, nil
	withoutCensuses.Leaders, withoutCensuses.Windows, withoutCensuses.Censuses = nil, nil, nil
	for version, h := range map[int]*model.History{1: withoutCensuses, 2: withoutStanding, 3: withoutPatches} {
		text := strings.Replace(written(t, Header{}, h), `"version":4`, fmt.Sprintf(`"version":%d`, version), 1)
		header, got, err := ReadValidHistory(strings.NewReader(text))
		require.NoError(t, err)
		require.Equal(t, version, header.Version)
		require.Equal(t, h, got)
	}
}

func TestLongLinesAreRead(t *testing.T) {
	h := example()
	h.Operations[0].Message = strings.Repeat("long ", 50_000)
	_, got, err := ReadValidHistory(strings.NewReader(written(t, Header{}, h)))
	require.NoError(t, err)
	require.Equal(t, h, got)
}

type brokenFile struct{ err error }

func (f brokenFile) Write([]byte) (int, error) { return 0, f.err }
func (f brokenFile) Read([]byte) (int, error)  { return 0, f.err }

func TestFileErrorsAreReported(t *testing.T) {
	full := errors.New("no space left on device")
	require.ErrorIs(t, WriteHistory(brokenFile{full}, Header{}, example()), full)
	_, _, err := ReadValidHistory(brokenFile{full})
	require.ErrorIs(t, err, full)
}

// large returns a history as of a run of 60 simulated seconds.
func large() *model.History {
	h := example()
	op, change, stream := h.Operations[2], h.Truth.Changes[0], &h.Streams[0]
	for i := range 200 {
		op.ID = 1000 + i
		h.Operations = append(h.Operations, op)
		h.Truth.Revision++
		change.RV = h.Truth.Revision
		h.Truth.Changes = append(h.Truth.Changes, change)
	}
	for range 3000 {
		stream.Events = append(stream.Events, stream.Events[len(stream.Events)-1])
	}
	return h
}

func BenchmarkWriteHistory(b *testing.B) {
	h := large()
	for b.Loop() {
		if err := WriteHistory(io.Discard, Header{}, h); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadHistory(b *testing.B) {
	text := written(b, Header{}, large())
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, _, err := ReadValidHistory(strings.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleWriteHistory() {
	var out bytes.Buffer
	err := WriteHistory(&out, Header{Seed: 7, Target: "kubernetes"}, &model.History{End: 60})
	fmt.Print(out.String(), err)
	// Output:
	// {"format":"watchsim.history","version":4,"seed":7,"target":"kubernetes"}
	// {"kind":"end","data":{"healed":0,"end":60,"revision":0,"records":0}}
	// <nil>
}
