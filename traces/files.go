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
	"strings"

	"github.com/klauspost/compress/zstd"
)

// The endings of the names of compressed files.
const (
	Zstd = ".zst"
	Gzip = ".gz"
)

// ExpandedMost is how many bytes a file may expand to. A small file that a
// stranger has sent may hold terabytes.
const MaxExpanded = 1 << 30

// windowMost bounds the memory that a zstd frame may ask its reader for. It is
// what the zstd command allows without being told otherwise.
const maxWindow = 128 << 20

var (
	// ErrTooLarge means that a file expands to more than [MaxExpanded].
	ErrTooLarge = errors.New("the file expands to more than is read")
	// ErrBroken means that a file is not what its first bytes say.
	ErrBroken = errors.New("the compressed file is broken")
)

// How compressed files begin.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// Find returns under which form of its name a file is there: as given, or with or
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

// Open opens a file under either form of its name and reads what it holds. Whether
// it is compressed is told by its first bytes.
func OpenFile(path string) (io.ReadCloser, error) {
	found, err := FindFile(path)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(found)
	if err != nil {
		return nil, err
	}
	content, err := NewReader(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &opened{content, file}, nil
}

// ReadFile is Open for a file that fits into memory.
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

func newReader(r io.Reader, most int64) (io.ReadCloser, error) {
	buffered := bufio.NewReaderSize(r, 1<<16)
	magic, _ := buffered.Peek(len(zstdMagic)) // an empty stream is for whoever reads it to complain of
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		unzipped, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("%w after 0 bytes of its content: expected gzip, as its first bytes say: %w", ErrBroken, err)
		}
		return &bounded{from: unzipped, close: func() {}, most: most, left: most}, nil
	case bytes.Equal(magic, zstdMagic):
		decoder, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("%w after 0 bytes of its content: expected zstd, as its first bytes say: %w", ErrBroken, err)
		}
		return &bounded{from: decoder, close: decoder.Close, most: most, left: most}, nil
	}
	return &bounded{from: buffered, close: func() {}, most: most, left: most}, nil
}

// bounded reads up to a limit and puts errors of decompression into words.
type bounded struct {
	from  io.Reader
	close func()
	most  int64
	left  int64
}

func (b *bounded) Close() error {
	b.close()
	return nil
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left == 0 {
		var one [1]byte
		if n, err := io.ReadFull(b.from, one[:]); n == 0 {
			return 0, b.broken(err)
		}
		return 0, fmt.Errorf("%w, %d bytes", ErrTooLarge, b.most)
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, b.broken(err)
}

// broken says of an error of decompression that it is one, and where.
func (b *bounded) broken(err error) error {
	switch {
	case err == nil, err == io.EOF, err == io.ErrUnexpectedEOF:
		return err
	}
	var of *fs.PathError
	if errors.As(err, &of) {
		return err
	}
	return fmt.Errorf("%w after %d bytes of its content: %w", ErrBroken, b.most-b.left, err)
}
