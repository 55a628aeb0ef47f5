package traces

import (
	"io"

	"github.com/klauspost/compress/zstd"
)

// FlushBytes is how much of what was written last may be missing from a file
// whose writer was killed.
const FlushBytes = 256 << 10

// Writer compresses with zstd, and passes on whole blocks every [FlushBytes], so
// that what there is of a file can be read while it is being written and after its
// writer was killed.
type Writer struct {
	encoder *zstd.Encoder
	held    int
}

// NewWriter returns a writer to w. The same bytes in make the same bytes out.
func NewWriter(w io.Writer) *Writer {
	encoder, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		panic(err) // the options are constants
	}
	return &Writer{encoder: encoder}
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (written int, err error) {
	for len(p) > 0 {
		n, err := w.encoder.Write(p[:min(len(p), FlushBytes-w.held)])
		written, w.held, p = written+n, w.held+n, p[n:]
		if err != nil {
			return written, err
		}
		if w.held == FlushBytes {
			w.held = 0
			if err := w.encoder.Flush(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// Close ends the compressed stream. It leaves w open.
func (w *Writer) Close() error { return w.encoder.Close() }
