package traces

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/watchsim/watchsim/model"
)

// The format, and the version that this build writes and the newest that it reads.
const (
	HistoryFormat  = "watchsim.history"
	HistoryVersion = 4
)

// What can be wrong with a history file. The error that wraps one says which
// line, and what was found there.
var (
	// ErrNotHistory means that the first line is not the header of a history.
	ErrNotHistory = errors.New("not a watchsim history")
	// ErrNewerVersion means that a newer build wrote the file.
	ErrNewerVersion = errors.New("the history is of a newer version")
	// ErrTruncated means that the file ends before its end record.
	ErrTruncated = errors.New("the history is truncated")
	// ErrBadRecord means that a line is not a record of this version.
	ErrBadRecord = errors.New("the history holds a bad record")
)

// Header is the first line of a history file: the origin of the history.
// [WriteHistory] sets Format and Version.
type Header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Seed and Target reproduce the run, if it was simulated.
	Seed   uint64 `json:"seed,omitempty"`
	Target string `json:"target,omitempty"`
	// Attributes are whatever else the writer records, by name.
	Attributes map[string]string `json:"attributes,omitempty"`
}

// The attributes in the header of a history from a real cluster.
const (
	// AttributeTruth says what the truth is based on.
	AttributeTruth = "truth"
	// AttributeBegan is the time at 0 in the history, in RFC 3339.
	AttributeBegan = "began"
	// AttributeResource is the resource, AttributeSources the sources of the history.
	AttributeResource, AttributeSources = "resource", "sources"
	// AttributeUnfinished is when the history was written, if its recorder had not
	// finished by then.
	AttributeUnfinished = "unfinished"
	// AttributeSkew is the most that clocks may have differed.
	AttributeSkew = "clock-skew"
)

// The kinds of record, in the order in which they are written.
const (
	kindChange     = "change"
	kindCompaction = "compaction"
	kindFault      = "fault"
	kindOperation  = "operation"
	kindStream     = "stream"
	kindEvent      = "event"
	kindInformer   = "informer"
	kindCensus     = "census"
	kindLeader     = "leader"
	kindWindow     = "window"
	kindEnd        = "end"
)

// end is the last record. A file without one is truncated.
type end struct {
	Healed   int64 `json:"healed"`
	End      int64 `json:"end"`
	Revision int64 `json:"revision"` // etcd's last
	Records  int   `json:"records"`  // before this one, without the header
	Steady   bool  `json:"steady,omitempty"`
}

// part is the list of a history's records of one kind.
type part struct {
	kind string
	list reflect.Value // a slice
}

// parts returns those of a history, in the order in which they are written. The events
// of a stream follow it.
func parts(h *model.History) []part {
	of := func(list any) reflect.Value { return reflect.ValueOf(list).Elem() }
	return []part{
		{kindChange, of(&h.Truth.Changes)}, {kindCompaction, of(&h.Truth.Compactions)}, {kindFault, of(&h.Faults)},
		{kindOperation, of(&h.Operations)}, {kindStream, of(&h.Streams)}, {kindInformer, of(&h.Informers)},
		{kindCensus, of(&h.Censuses)}, {kindLeader, of(&h.Leaders)}, {kindWindow, of(&h.Windows)},
	}
}

// record is a line of a history other than the header.
type record[T any] struct {
	Kind string `json:"kind"`
	Data T      `json:"data"`
}

// WriteHistory writes a history as JSON Lines.
func WriteHistory(w io.Writer, header Header, h *model.History) error {
	header.Format, header.Version = HistoryFormat, HistoryVersion
	out := bufio.NewWriterSize(w, 1<<16)
	lines := json.NewEncoder(out)
	err := lines.Encode(header)
	records := 0
	write := func(kind string, data any) {
		if err == nil {
			records, err = records+1, lines.Encode(record[any]{kind, data})
		}
	}
	for _, part := range parts(h) {
		for i := range part.list.Len() {
			data := part.list.Index(i).Addr().Interface()
			write(part.kind, data)
			if stream, is := data.(*model.Stream); is {
				for _, event := range stream.Events {
					event.Stream = stream.ID
					write(kindEvent, &event)
				}
			}
		}
	}
	write(kindEnd, end{Healed: h.Healed, End: h.End, Revision: h.Truth.Revision, Records: records, Steady: h.Steady})
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// ReadValidHistory reads a history, and returns it if it is valid according to
// [Validate]. Unknown fields are ignored; unknown kinds of record are errors, which
// name the line.
func ReadValidHistory(r io.Reader) (Header, *model.History, error) {
	header, reader, err := readHistory(r)
	if err == nil {
		err = validate(reader.history, reader.numbers())
	}
	if err != nil {
		return Header{}, nil, err
	}
	return header, reader.history, nil
}

func readHistory(r io.Reader) (Header, *historyReader, error) {
	lines := &lineReader{in: bufio.NewReaderSize(r, 1<<16)}
	header, err := readHeader(lines)
	if err != nil {
		return Header{}, nil, err
	}
	reader := &historyReader{lines: lines, history: &model.History{}, parts: map[string]reflect.Value{}, streams: map[int]int{}, at: lineNumbers{}}
	for _, part := range parts(reader.history) {
		reader.parts[part.kind] = part.list
	}
	for {
		last, err := reader.record()
		if err != nil {
			return Header{}, nil, err
		}
		if last {
			return header, reader, nil
		}
	}
}

func readHeader(lines *lineReader) (Header, error) {
	line, err := lines.next()
	if err == io.EOF {
		return Header{}, fmt.Errorf("%w: the file is empty, and has no line 1", ErrNotHistory)
	}
	if err != nil && (line == nil || !errors.Is(err, ErrTruncated)) {
		return Header{}, err
	}
	var header Header
	if json.Unmarshal(line, &header) != nil || header.Format == "" {
		return Header{}, fmt.Errorf("%w: line 1 is not a header that names a format", ErrNotHistory)
	}
	switch {
	case header.Format != HistoryFormat:
		return Header{}, fmt.Errorf("%w: line 1 names the format %q instead of %q", ErrNotHistory, header.Format, HistoryFormat)
	case header.Version > HistoryVersion:
		return Header{}, fmt.Errorf("%w, %d on line 1: this build reads up to version %d", ErrNewerVersion, header.Version, HistoryVersion)
	case header.Version < 1:
		return Header{}, fmt.Errorf("%w: line 1 names version %d, but versions start at 1", ErrNotHistory, header.Version)
	}
	return header, nil
}

// historyReader assembles a history from records.
type historyReader struct {
	lines   *lineReader
	kind    string // of the record that is being read
	history *model.History
	parts   map[string]reflect.Value
	// streams maps the ID of a stream to its index in the history.
	streams map[int]int
	// at are the lines of the records read, except events, whose lines are kept by
	// stream index.
	at     lineNumbers
	events [][]int
}

// numbers returns the lines of all records, events in the order of streams.
func (r *historyReader) numbers() lineNumbers {
	for _, ofStream := range r.events {
		r.at[kindEvent] = append(r.at[kindEvent], ofStream...)
	}
	return r.at
}

// record reads one record and reports whether it was the last.
func (r *historyReader) record() (last bool, err error) {
	line, err := r.lines.next()
	if err == io.EOF {
		return false, fmt.Errorf("%w: it ends after line %d without an end record", ErrTruncated, r.lines.number)
	}
	if err != nil {
		return false, err
	}
	var record record[json.RawMessage]
	if err := json.Unmarshal(line, &record); err != nil {
		return false, r.bad("is not a JSON record: %s", misfit(err))
	}
	r.kind = record.Kind
	switch record.Kind {
	case kindEvent:
		return false, r.event(record.Data)
	case kindEnd:
		r.at[kindEnd] = []int{r.lines.number}
		return true, r.end(record.Data)
	}
	list, known := r.parts[record.Kind]
	if !known {
		return false, r.bad("has the unknown kind %q", record.Kind)
	}
	r.at[record.Kind] = append(r.at[record.Kind], r.lines.number)
	data := reflect.New(list.Type().Elem())
	if err := r.decode(record.Data, data.Interface()); err != nil {
		return false, err
	}
	list.Set(reflect.Append(list, data.Elem()))
	if stream, is := data.Interface().(*model.Stream); is {
		if _, again := r.streams[stream.ID]; again {
			return false, r.bad("opens stream %d a second time", stream.ID)
		}
		r.streams[stream.ID] = list.Len() - 1
		r.events = append(r.events, nil)
	}
	return false, nil
}

func (r *historyReader) decode(data []byte, into any) error {
	if len(data) == 0 {
		return r.bad("has no data")
	}
	if err := json.Unmarshal(data, into); err != nil {
		return r.bad("has data that does not fit the kind %s: %s", r.kind, misfit(err))
	}
	if data[0] != '{' { // null, which decodes into anything
		return r.bad("has data that does not fit the kind %s: expected an object, found %s", r.kind, data)
	}
	if field := missing(reflect.TypeOf(into), data); field != "" {
		return r.bad("lacks the field %s, which a record of kind %s needs", field, r.kind)
	}
	return nil
}

func (r *historyReader) event(data []byte) error {
	var event model.Event
	if err := r.decode(data, &event); err != nil {
		return err
	}
	index, opened := r.streams[event.Stream]
	if !opened {
		return r.bad("is an event of stream %d, which no line before it opened", event.Stream)
	}
	stream := &r.history.Streams[index]
	stream.Events = append(stream.Events, event)
	r.events[index] = append(r.events[index], r.lines.number)
	return nil
}

func (r *historyReader) end(data []byte) error {
	var last end
	if err := r.decode(data, &last); err != nil {
		return err
	}
	if records := r.lines.number - 2; records != last.Records {
		return r.bad("says that %d records came before it, but %d did", last.Records, records)
	}
	r.history.Healed, r.history.End, r.history.Truth.Revision = last.Healed, last.End, last.Revision
	r.history.Steady = last.Steady
	if _, err := r.lines.next(); err != io.EOF {
		return r.bad("comes after the end record")
	}
	return nil
}

// bad returns an error about the current line.
func (r *historyReader) bad(format string, args ...any) error {
	return fmt.Errorf("%w: line %d %s", ErrBadRecord, r.lines.number, fmt.Sprintf(format, args...))
}

// maxLine is the most bytes of a line, so that a file of another kind is noticed
// before it fills the memory. A list of a hundred thousand objects fits.
const maxLine = 64 << 20

// lineReader reads lines and counts them.
type lineReader struct {
	in     *bufio.Reader
	number int
}

// next returns the next line, which is valid until the following call. A last line
// without a newline that is not complete JSON is reported as truncated.
func (r *lineReader) next() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		line = bytes.Clone(line)
		for err == bufio.ErrBufferFull {
			var rest []byte
			rest, err = r.in.ReadSlice('\n')
			if line = append(line, rest...); len(line) > maxLine {
				return nil, fmt.Errorf("%w: line %d is longer than %d bytes, which is the most that is read", ErrBadRecord, r.number+1, maxLine)
			}
		}
	}
	if len(line) > 0 {
		r.number++
	}
	switch {
	case err == io.EOF && len(line) > 0 && !json.Valid(line):
		return line, fmt.Errorf("%w: line %d ends in the middle of a record", ErrTruncated, r.number)
	case err == io.EOF && len(line) > 0:
		return line, nil
	case err == io.ErrUnexpectedEOF:
		return nil, fmt.Errorf("%w: the compressed file ends in the middle of line %d: %w", ErrTruncated, max(r.number, 1), err)
	case err != nil && err != io.EOF:
		return nil, fmt.Errorf("read history: line %d: %w", r.number+1, err)
	}
	return line, err
}
