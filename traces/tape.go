package traces

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// tapeFormat and tapeVersion identify a tape file.
const (
	tapeFormat  = "watchsim.tape"
	tapeVersion = 1
)

// The most bytes of a tape's first line, and of its decisions.
const (
	maxTapeHeader    = 1 << 12
	maxTapeDecisions = 1 << 30
)

// ErrTape means that a file is not a usable tape.
var ErrTape = errors.New("not a usable tape")

// tapeHeader is the first line of a tape file. The decisions follow as bytes.
type tapeHeader struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Seed    uint64 `json:"seed"`
	Bytes   int    `json:"bytes"`
	SHA256  string `json:"sha256"`
}

// Tape has the scheduling decisions of one run, as package sim records them, and
// the seed that its random streams derive from.
type Tape struct {
	Seed      uint64
	Decisions []byte
}

// WriteTape writes a tape: one line of JSON, then the decisions.
func WriteTape(w io.Writer, tape Tape) error {
	sum := sha256.Sum256(tape.Decisions)
	header, err := json.Marshal(tapeHeader{tapeFormat, tapeVersion, tape.Seed, len(tape.Decisions), hex.EncodeToString(sum[:])})
	if err != nil {
		return err
	}
	if _, err := w.Write(append(header, '\n')); err != nil {
		return err
	}
	_, err = w.Write(tape.Decisions)
	return err
}

// ReadTape reads what WriteTape wrote. Its errors wrap ErrTape and say what was
// expected and found.
func ReadTape(r io.Reader) (Tape, error) {
	in := bufio.NewReaderSize(r, maxTapeHeader)
	line, err := in.ReadSlice('\n') // at most the size of the buffer
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return Tape{}, fmt.Errorf("%w: %w", ErrTape, err)
	}
	size := len(line) // line is only valid until the next read
	var header tapeHeader
	if json.Unmarshal(bytes.TrimSpace(line), &header) != nil || header.Format != tapeFormat {
		return Tape{}, fmt.Errorf("%w: line 1: expected the format %q, found %.60q", ErrTape, tapeFormat, bytes.TrimSpace(line))
	}
	if header.Version != tapeVersion {
		return Tape{}, fmt.Errorf("%w: line 1: expected version %d, found version %d; use the watchsim that wrote it", ErrTape, tapeVersion, header.Version)
	}
	if header.Bytes < 0 || header.Bytes > maxTapeDecisions {
		return Tape{}, fmt.Errorf("%w: line 1: expected 0 to %d bytes of decisions, found %d", ErrTape, maxTapeDecisions, header.Bytes)
	}
	decisions, err := io.ReadAll(io.LimitReader(in, int64(header.Bytes)+1))
	if err != nil {
		return Tape{}, fmt.Errorf("%w: %w", ErrTape, err)
	}
	if len(decisions) != header.Bytes {
		found := fmt.Sprint(len(decisions))
		if len(decisions) > header.Bytes {
			found += " or more"
		}
		return Tape{}, fmt.Errorf("%w: byte %d: expected the end of %d bytes of decisions, found %s; the file is truncated or was appended to",
			ErrTape, size+min(len(decisions), header.Bytes), header.Bytes, found)
	}
	if sum := sha256.Sum256(decisions); hex.EncodeToString(sum[:]) != header.SHA256 {
		return Tape{}, fmt.Errorf("%w: bytes %d to %d: expected decisions with the checksum %.12s…, found another; the file is damaged",
			ErrTape, size, size+len(decisions), header.SHA256)
	}
	return Tape{Seed: header.Seed, Decisions: decisions}, nil
}
