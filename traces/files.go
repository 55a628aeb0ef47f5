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

// MaxExpanded is how many bytes a file may expand to. A small file that somebody has
// sent may hold terabytes.
const MaxExpanded = 1 << 30

// maxWindow bounds the memory that a zstd frame may ask its reader for. It is
// what the zstd command allows without being told otherwise.
const maxWindow = 128 << 20

var (
	// ErrTooLarge means that a file expands to more than [MaxExpanded].
	ErrTooLarge = errors.New("the file holds more than the limit")
	// ErrLink means that a folder, or a file in it, is a symbolic link or something
	// else that whoever made the folder may have pointed anywhere.
	ErrLink = errors.New("links are not followed")
	// ErrBroken means that a file is not what its first bytes say.
	ErrBroken = errors.New("the compressed file is broken")
)

// How compressed files begin.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// FindFile returns under which form of its name a file is there: as given, or with or
// without the ending of a compressed file. The error is that of os.Stat for the
// name as given.
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
// link: folders come from elsewhere, and what they point to is not theirs to show or
// to replace.
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

// CheckFolder returns an error if a folder is a symbolic link. One that is not there
// is for whoever reads it to complain of.
func CheckFolder(folder string) error {
	about, err := os.Lstat(filepath.Clean(folder)) // a slash at the end would follow the link
	if err != nil || about.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	return fmt.Errorf("%w: expected the folder of a run, found that %s is a symbolic link; give the folder that it points to", ErrLink, folder)
}

// OpenFile opens a file under either form of its name and reads what it holds. Whether
// it is compressed is told by its first bytes. A file that holds more than
// [MaxExpanded] is refused before any of it is read into memory.
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

// measured is newReader for a file of which all that it holds is within the limit.
// What a compressed file says of its own size need not be true, so it is expanded
// twice.
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
	return newReader(file, limit) // other flaws show again, where they can be told better
}

func tooLarge(limit int64) error { return fmt.Errorf("%w, which is %d bytes", ErrTooLarge, limit) }

// ReadFile is OpenFile for a file that fits into memory.
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

// NewReader reads what a stream holds that may be compressed. Closing it frees
// what decompression takes and leaves the stream open.
//
// Of a stream that was cut short everything is read that is whole, and the error
// is then io.ErrUnexpectedEOF, not io.EOF.
func NewReader(r io.Reader) (io.ReadCloser, error) { return newReader(r, MaxExpanded) }

func newReader(r io.Reader, limit int64) (io.ReadCloser, error) {
	buffered := bufio.NewReaderSize(r, 1<<16)
	magic, _ := buffered.Peek(len(zstdMagic)) // an empty stream is for whoever reads it to complain of
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

// bounded reads up to a limit and puts errors of decompression into words.
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

// broken says of an error of decompression that it is one, and where.
func (b *bounded) broken(err error) error {
	var of *fs.PathError
	if err == nil || err == io.EOF || err == io.ErrUnexpectedEOF || errors.As(err, &of) {
		return err
	}
	return fmt.Errorf("%w after %d bytes of its content: %w", ErrBroken, b.limit-b.left, err)
}

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
