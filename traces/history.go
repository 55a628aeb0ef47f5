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

// The format and the newest version of it that this build writes and reads.
const (
	HistoryFormat  = "watchsim.history"
	HistoryVersion = 3
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

// Header is the first line of a history file: what made it. Format and Version
// are filled in by [WriteHistory].
type Header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Seed and Target reproduce the run, if a simulated run it was.
	Seed   uint64 `json:"seed,omitempty"`
	Target string `json:"target,omitempty"`
	// Attributes are whatever else the writer wants to keep, by name.
	Attributes map[string]string `json:"attributes,omitempty"`
}

// The attributes that the header of a history from a real cluster has.
const (
	// AttributeTruth says what the truth was taken from.
	AttributeTruth = "truth"
	// AttributeBegan is the time 0 of the history, as RFC 3339 has it.
	AttributeBegan = "began"
	// AttributeResource is the resource, AttributeSources where the history is from.
	AttributeResource, AttributeSources = "resource", "sources"
	// AttributeUnfinished is when the history was written, if its recorder had not
	// finished by then.
	AttributeUnfinished = "unfinished"
	// AttributeSkew is by how much clocks may have differed.
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
}

// WriteHistory writes a history as JSON Lines.
func WriteHistory(w io.Writer, header Header, h *model.History) error {
	header.Format, header.Version = HistoryFormat, HistoryVersion
	lines := &lineWriter{out: bufio.NewWriterSize(w, 1<<16)}
	lines.value("", header)
	for i := range h.Truth.Changes {
		lines.change(&h.Truth.Changes[i])
	}
	for i := range h.Truth.Compactions {
		lines.value(kindCompaction, &h.Truth.Compactions[i])
	}
	for i := range h.Faults {
		lines.value(kindFault, &h.Faults[i])
	}
	for i := range h.Operations {
		lines.value(kindOperation, &h.Operations[i])
	}
	for i := range h.Streams {
		stream := &h.Streams[i]
		lines.value(kindStream, stream)
		for j := range stream.Events {
			lines.event(stream.ID, &stream.Events[j])
		}
	}
	for i := range h.Informers {
		lines.value(kindInformer, &h.Informers[i])
	}
	for i := range h.Censuses {
		lines.value(kindCensus, &h.Censuses[i])
	}
	for i := range h.Leaders {
		lines.value(kindLeader, &h.Leaders[i])
	}
	for i := range h.Windows {
		lines.value(kindWindow, &h.Windows[i])
	}
	lines.value(kindEnd, end{Healed: h.Healed, End: h.End, Revision: h.Truth.Revision, Records: lines.written - 1})
	if lines.err != nil {
		return fmt.Errorf("write history: %w", lines.err)
	}
	if err := lines.out.Flush(); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// ReadHistory reads what [WriteHistory] wrote. Fields it does not know are
// ignored, kinds of record are not. What it returns need not make sense: see
// [ReadValidHistory].
func ReadHistory(r io.Reader) (Header, *model.History, error) {
	header, reader, err := readHistory(r)
	if err != nil {
		return Header{}, nil, err
	}
	return header, reader.history, nil
}

// ReadValidHistory reads a history that anybody may have written, and returns it
// if it is valid in the sense of [Validate]. Errors name the line.
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
	reader := &historyReader{lines: lines, history: &model.History{}, streams: map[int]int{}, at: lineNumbers{}, shapes: map[reflect.Type]*shape{}}
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

// historyReader puts records together.
type historyReader struct {
	lines   *lineReader
	kind    string // of the record that is being read
	history *model.History
	// streams maps the ID of a stream to its index in the history.
	streams map[int]int
	// at are the lines of the records read, events apart: those are kept for
	// each stream, by its index.
	at     lineNumbers
	events [][]int
	// shapes are the fields of the types that have been read.
	shapes map[reflect.Type]*shape
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
	var record struct {
		Kind string          `json:"kind"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(line, &record); err != nil {
		return false, r.bad("is not a JSON record: %s", misfit(err))
	}
	r.kind = record.Kind
	if record.Kind != kindEvent {
		r.at[record.Kind] = append(r.at[record.Kind], r.lines.number)
	}
	h := r.history
	switch record.Kind {
	case kindChange:
		return false, add(r, &h.Truth.Changes, record.Data)
	case kindCompaction:
		return false, add(r, &h.Truth.Compactions, record.Data)
	case kindFault:
		return false, add(r, &h.Faults, record.Data)
	case kindOperation:
		return false, add(r, &h.Operations, record.Data)
	case kindInformer:
		return false, add(r, &h.Informers, record.Data)
	case kindCensus:
		return false, add(r, &h.Censuses, record.Data)
	case kindLeader:
		return false, add(r, &h.Leaders, record.Data)
	case kindWindow:
		return false, add(r, &h.Windows, record.Data)
	case kindStream:
		if err := add(r, &h.Streams, record.Data); err != nil {
			return false, err
		}
		index := len(h.Streams) - 1
		if _, again := r.streams[h.Streams[index].ID]; again {
			return false, r.bad("opens stream %d a second time", h.Streams[index].ID)
		}
		r.streams[h.Streams[index].ID] = index
		r.events = append(r.events, nil)
		return false, nil
	case kindEvent:
		return false, r.event(record.Data)
	case kindEnd:
		return true, r.end(record.Data)
	}
	return false, r.bad("has the unknown kind %q", record.Kind)
}

// add decodes a record's data and appends it.
func add[T any](r *historyReader, to *[]T, data []byte) error {
	var zero T
	*to = append(*to, zero)
	return r.decode(data, &(*to)[len(*to)-1])
}

func (r *historyReader) decode(data []byte, into any) error {
	if len(data) == 0 {
		return r.bad("has no data")
	}
	if err := json.Unmarshal(data, into); err != nil {
		return r.bad("has data that does not fit the kind %s: %s", r.kind, misfit(err))
	}
	if data[0] != '{' { // null, which fits everything
		return r.bad("has data that does not fit the kind %s: expected an object, found %s", r.kind, data)
	}
	of := reflect.TypeOf(into)
	if r.shapes[of] == nil {
		r.shapes[of] = shapeOf(of)
	}
	if field := r.shapes[of].missing(data); field != "" {
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
	if _, err := r.lines.next(); err != io.EOF {
		return r.bad("comes after the end record")
	}
	return nil
}

// bad returns an error about the line read last.
func (r *historyReader) bad(format string, args ...any) error {
	return fmt.Errorf("%w: line %d %s", ErrBadRecord, r.lines.number, fmt.Sprintf(format, args...))
}

// lineMost bounds the length of a line, so that a file of another kind is noticed
// before it fills the memory. A list of a hundred thousand objects fits.
const lineMost = 64 << 20

// lineReader reads lines and counts them.
type lineReader struct {
	in     *bufio.Reader
	number int
}

// next returns the next line, which is valid until the call after it. A last
// line that lacks its newline and is not whole JSON is reported as truncated.
func (r *lineReader) next() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		line = bytes.Clone(line)
		for err == bufio.ErrBufferFull {
			var rest []byte
			rest, err = r.in.ReadSlice('\n')
			if line = append(line, rest...); len(line) > lineMost {
				return nil, fmt.Errorf("%w: line %d is longer than %d bytes, which is the most that is read", ErrBadRecord, r.number+1, lineMost)
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

// lineWriter writes records and remembers the first error. Changes and events,
// of which there are thousands, are encoded by hand; see encode.go.
type lineWriter struct {
	out     *bufio.Writer
	buffer  []byte
	written int
	err     error
}

// value writes any value as one line, as the data of a record if kind is given.
func (l *lineWriter) value(kind string, value any) {
	if l.err != nil {
		return
	}
	data, err := json.Marshal(value)
	if err != nil {
		l.err = err
		return
	}
	if kind == "" {
		l.buffer = append(l.buffer[:0], data...)
		l.flush()
		return
	}
	l.begin(kind)
	l.buffer = append(l.buffer, data...)
	l.end()
}

func (l *lineWriter) begin(kind string) {
	l.buffer = append(l.buffer[:0], `{"kind":"`...)
	l.buffer = append(l.buffer, kind...)
	l.buffer = append(l.buffer, `","data":`...)
}

func (l *lineWriter) end() {
	l.buffer = append(l.buffer, '}')
	l.flush()
}

func (l *lineWriter) flush() {
	l.buffer = append(l.buffer, '\n')
	if l.err == nil {
		_, l.err = l.out.Write(l.buffer)
		l.written++
	}
}
