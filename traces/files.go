package traces

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// The endings of the names of compressed files.
const (
	Zstd = ".zst"
	Gzip = ".gz"
)

// MaxExpanded is the most bytes that a file may expand to. A small untrusted file may
// expand to terabytes.
const MaxExpanded = 1 << 30

// maxWindow bounds the memory that a zstd frame may require of its reader. It is the
// default of the zstd command.
const maxWindow = 128 << 20

var (
	// ErrTooLarge means that a file expands to more than [MaxExpanded].
	ErrTooLarge = errors.New("the file holds more than the limit")
	// ErrLink means that a folder, or a file in it, is a symbolic link or another kind
	// of file that may refer to anything outside the folder.
	ErrLink = errors.New("links are not followed")
	// ErrBroken means that a file is not of the format that its first bytes indicate.
	ErrBroken = errors.New("the compressed file is broken")
)

// The prefixes of compressed files.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// FindFile returns the path under which a file exists: as given, or with or without
// the ending of a compressed file. The error is that of os.Stat for the path as
// given.
func FindFile(path string) (string, error) {
	bare := strings.TrimSuffix(strings.TrimSuffix(path, Zstd), Gzip)
	_, missing := os.Stat(path)
	if missing == nil || !errors.Is(missing, fs.ErrNotExist) {
		return path, missing
	}
	for _, other := range []string{bare, bare + Zstd, bare + Gzip} {
		if _, err := os.Stat(other); err == nil {
			return other, nil
		}
	}
	return path, missing
}

// FindIn is FindFile for a file in the folder of a run. Neither may be a symbolic
// link: folders may be untrusted, and must not make watchsim read or replace files
// outside.
func FindIn(folder, name string) (string, error) {
	path := filepath.Join(folder, name)
	if err := CheckFolder(folder); err != nil {
		return path, err
	}
	path, err := FindFile(path)
	if err != nil {
		return path, err
	}
	about, err := os.Lstat(path)
	if err == nil && !about.Mode().IsRegular() {
		err = fmt.Errorf("%w: expected a regular file %s, found another kind of file", ErrLink, path)
	}
	return path, err
}

// CheckFolder returns an error if a folder is a symbolic link. A missing folder is no
// error here, as its reader reports it.
func CheckFolder(folder string) error {
	about, err := os.Lstat(filepath.Clean(folder)) // a trailing slash would follow the link
	if err != nil || about.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	return fmt.Errorf("%w: expected the folder of a run, found that %s is a symbolic link; give the folder that it points to", ErrLink, folder)
}

// OpenFile opens a file found by FindFile and decompresses it, if its first bytes say
// that it is compressed. A file that expands to more than [MaxExpanded] is refused
// before any of it is read into memory.
func OpenFile(path string) (io.ReadCloser, error) { return openFile(path, MaxExpanded) }

func openFile(path string, limit int64) (io.ReadCloser, error) {
	found, err := FindFile(path)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(found)
	if err != nil {
		return nil, err
	}
	content, err := measured(file, limit)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &opened{content, file}, nil
}

// measured is newReader for a file whose whole content is within the limit. The size
// in a compressed file need not be true, so the file is expanded twice.
func measured(file *os.File, limit int64) (io.ReadCloser, error) {
	about, err := file.Stat()
	if err != nil || !about.Mode().IsRegular() {
		return newReader(file, limit)
	}
	if about.Size() > limit {
		return nil, tooLarge(limit)
	}
	content, err := newReader(file, limit)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, content)
	content.Close()
	if errors.Is(err, ErrTooLarge) {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return newReader(file, limit) // other flaws recur, where the error can say more
}

func tooLarge(limit int64) error { return fmt.Errorf("%w, which is %d bytes", ErrTooLarge, limit) }

// ReadFile reads a whole file as OpenFile does.
func ReadFile(path string) ([]byte, error) {
	file, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(file)
	return content, errors.Join(err, file.Close())
}

type opened struct {
	io.ReadCloser
	file *os.File
}

func (o *opened) Close() error { return errors.Join(o.ReadCloser.Close(), o.file.Close()) }

// NewReader reads a stream that may be compressed. Closing it frees the resources of
// decompression and leaves the stream open.
//
// If the stream is truncated, everything that is complete is read, and the error is
// io.ErrUnexpectedEOF, not io.EOF.
func NewReader(r io.Reader) (io.ReadCloser, error) { return newReader(r, MaxExpanded) }

func newReader(r io.Reader, limit int64) (io.ReadCloser, error) {
	buffered := bufio.NewReaderSize(r, 1<<16)
	magic, _ := buffered.Peek(len(zstdMagic)) // the reader reports an empty stream
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		unzipped, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("%w after 0 bytes of its content: expected gzip, as its first bytes say: %w", ErrBroken, err)
		}
		return &bounded{io.NopCloser(unzipped), limit, limit}, nil
	case bytes.Equal(magic, zstdMagic):
		decoder, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("%w after 0 bytes of its content: expected zstd, as its first bytes say: %w", ErrBroken, err)
		}
		return &bounded{decoder.IOReadCloser(), limit, limit}, nil
	}
	return &bounded{io.NopCloser(buffered), limit, limit}, nil
}

// bounded reads up to a limit and wraps errors of decompression.
type bounded struct {
	io.ReadCloser
	limit int64
	left  int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left == 0 {
		var one [1]byte
		if n, err := io.ReadFull(b.ReadCloser, one[:]); n == 0 {
			return 0, b.broken(err)
		}
		return 0, tooLarge(b.limit)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, b.broken(err)
}

// broken wraps an error of decompression, with its position.
func (b *bounded) broken(err error) error {
	var of *fs.PathError
	if err == nil || err == io.EOF || err == io.ErrUnexpectedEOF || errors.As(err, &of) {
		return err
	}
	return fmt.Errorf("%w after %d bytes of its content: %w", ErrBroken, b.limit-b.left, err)
}

// FlushBytes is the most bytes that may be missing at the end of a file whose writer
// was killed.
const FlushBytes = 256 << 10

// Writer compresses with zstd, and flushes every [FlushBytes], so that a file can be
// read while it is being written and after its writer was killed.
type Writer struct {
	encoder *zstd.Encoder
	held    int
}

// NewWriter returns a writer to w. Its output is deterministic.
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
