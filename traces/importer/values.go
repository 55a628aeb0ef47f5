package importer

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// errCut means that a file ends within a value: it was copied while it was being
// written, or the writer was killed.
var errCut = errors.New("the file ends in the middle of a value")

// position is a position in a file.
type position struct {
	File string
	Line int   // from 1 on
	Byte int64 // from 0 on, of the uncompressed text
}

// String returns the position as in errors.
func (p position) String() string { return fmt.Sprintf("%s:%d (byte %d)", p.File, p.Line, p.Byte) }

// Errorf returns an error with the position as prefix.
func (p position) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", p, fmt.Errorf(format, args...))
}

// valueReader reads the JSON objects of a file in order.
type valueReader struct {
	// Limit is the most bytes of a value, [MaxValue] if it is 0.
	Limit int

	in *bufio.Reader
	at position
}

// newValueReader returns a reader of a file, and decompresses gzip. The name is for
// messages.
func newValueReader(file string, r io.Reader) (*valueReader, error) {
	reader := &valueReader{in: bufio.NewReaderSize(r, 1<<16), at: position{File: file, Line: 1}}
	if magic, _ := reader.in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(reader.in)
		if err != nil {
			return nil, reader.at.Errorf("expected gzip, as the first bytes say, found a broken file: %w", err)
		}
		reader.in = bufio.NewReaderSize(unzipped, 1<<16)
	}
	return reader, nil
}

// jsonValue is one JSON object of a file.
type jsonValue struct {
	position
	// Text is valid until the next one is read.
	Text []byte
}

// Next returns the next value. It returns io.EOF at the end of the file, an error
// that wraps [errCut] if the file ends within a value, and any other error with
// its position.
func (r *valueReader) Next() (jsonValue, error) {
	splitter := Splitter{Limit: r.Limit}
	var begin position
	for {
		if _, err := r.in.Peek(1); err != nil {
			switch {
			case err == io.EOF && splitter.Within(), errors.Is(err, io.ErrUnexpectedEOF):
				return jsonValue{}, r.at.Errorf("%w that begins at line %d", errCut, max(begin.Line, 1))
			case err == io.EOF:
				return jsonValue{}, io.EOF
			}
			return jsonValue{}, r.at.Errorf("expected more of the file, found that it cannot be read: %w", err)
		}
		piece, _ := r.in.Peek(r.in.Buffered())
		if !splitter.Within() {
			blank := len(piece) - len(bytes.TrimLeft(piece, whiteSpace))
			r.pass(blank)
			if piece = piece[blank:]; len(piece) == 0 {
				continue
			}
			begin = r.at
		}
		taken, text, err := splitter.Take(piece)
		if err != nil {
			if errors.Is(err, errTooLong) {
				return jsonValue{}, begin.Errorf("expected a value of at most %d bytes, found a longer one", splitter.limit())
			}
			return jsonValue{}, begin.Errorf("%w, found %.20q", err, piece[taken:])
		}
		r.pass(taken)
		if text != nil {
			return jsonValue{position: begin, Text: text}, nil
		}
	}
}

// pass skips a number of bytes that are in the buffer.
func (r *valueReader) pass(count int) {
	piece, _ := r.in.Peek(count)
	r.at.Line += bytes.Count(piece, []byte{'\n'})
	r.at.Byte += int64(count)
	r.in.Discard(count)
}

// Decode decodes a value. Errors name the position of the flaw in the file.
func (v jsonValue) Decode(into any) error {
	err := json.Unmarshal(v.Text, into)
	if err == nil {
		return nil
	}
	if syntax, is := errors.AsType[*json.SyntaxError](err); is {
		return v.within(syntax.Offset).Errorf("expected JSON, found %w", err)
	}
	if misfit, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		return v.within(misfit.Offset).Errorf("expected another type of value in the field %s, found a JSON %s", cmp.Or(misfit.Field, "at the top"), misfit.Value)
	}
	return v.Errorf("expected JSON that fits, found %s", strings.ReplaceAll(err.Error(), "\n", " "))
}

// within returns the position of a byte of the value.
func (v jsonValue) within(offset int64) position {
	at := v.position
	offset = min(max(offset, 0), int64(len(v.Text)))
	at.Line += bytes.Count(v.Text[:offset], []byte{'\n'})
	at.Byte += offset
	return at
}

// eachValue calls a function for each object of a file. A truncated last one is omitted:
// logs are copied while they are being written, and kubectl is interrupted.
func (r *Recording) eachValue(file string, in io.Reader, do func(jsonValue) error) error {
	reader, err := newValueReader(file, in)
	if err != nil {
		return err
	}
	for {
		value, err := reader.Next()
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, errCut):
			r.Omit(err.Error())
			return nil
		case err == nil:
			err = do(value)
		}
		if err != nil {
			return err
		}
	}
}
