package traces

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func packedBytes(t require.TestingT, content []byte) []byte { return through(t, NewWriter, content) }

func gzipped(t require.TestingT, content []byte) []byte { return through(t, gzip.NewWriter, content) }

func through[W io.WriteCloser](t require.TestingT, compressor func(io.Writer) W, content []byte) []byte {
	var file bytes.Buffer
	w := compressor(&file)
	_, err := w.Write(content)
	require.NoError(t, errors.Join(err, w.Close()))
	return file.Bytes()
}

func expandAll(t require.TestingT, file []byte) ([]byte, error) {
	r, err := NewReader(bytes.NewReader(file))
	require.NoError(t, err)
	content, err := io.ReadAll(r)
	require.NoError(t, r.Close())
	return content, err
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOf(rapid.Byte()).Draw(t, "content")
		for _, file := range [][]byte{packedBytes(t, content), gzipped(t, content)} {
			read, err := expandAll(t, file)
			require.NoError(t, err)
			require.True(t, bytes.Equal(content, read))
		}
		require.Equal(t, packedBytes(t, content), packedBytes(t, content))
	})
}

func TestEitherFormOfANameWillDo(t *testing.T) {
	for _, there := range []string{"history.jsonl", "history.jsonl.zst", "history.jsonl.gz"} {
		dir := t.TempDir()
		content := map[string][]byte{
			".jsonl": []byte("hello"), Zstd: packedBytes(t, []byte("hello")), Gzip: gzipped(t, []byte("hello")),
		}[filepath.Ext(there)]
		require.NoError(t, os.WriteFile(filepath.Join(dir, there), content, 0o600))
		for _, asked := range []string{"history.jsonl", "history.jsonl.zst", "history.jsonl.gz"} {
			read, err := ReadFile(filepath.Join(dir, asked))
			require.NoError(t, err, "%s for %s", asked, there)
			require.Equal(t, "hello", string(read))
		}
		_, err := ReadFile(filepath.Join(dir, "tape.bin"))
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.ErrorContains(t, err, "tape.bin:", "the name that was asked for")
	}
}

// A file whose writer was killed can be read up to the last flush.
func TestAHalfWrittenFileIsReadable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	content := make([]byte, 5*FlushBytes+FlushBytes/2)
	for i := range content {
		content[i] = "0123456789abcdef"[random.IntN(16)]
	}
	var file bytes.Buffer
	w := NewWriter(&file)
	const step = 40_000
	for from := 0; from < len(content); from += step {
		_, err := w.Write(content[from:min(from+step, len(content))])
		require.NoError(t, err)
		read, err := expandAll(t, file.Bytes()) // as if the writer had been killed
		require.True(t, bytes.HasPrefix(content, read))
		require.LessOrEqual(t, from+step-len(read), FlushBytes+step)
		if file.Len() > 0 {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		}
	}
	for cut := 1; cut < file.Len(); cut += 7001 {
		read, err := expandAll(t, file.Bytes()[:max(cut, len(zstdMagic))])
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.True(t, bytes.HasPrefix(content, read))
	}
}

func TestAFileExpandsToALimit(t *testing.T) {
	const most = 1 << 20
	for _, pack := range []func(require.TestingT, []byte) []byte{
		packedBytes, gzipped, func(_ require.TestingT, content []byte) []byte { return content },
	} {
		for size, says := range map[int]error{most - 1: nil, most: nil, most + 1: ErrTooLarge, 3 * most: ErrTooLarge} {
			r, err := newReader(bytes.NewReader(pack(t, make([]byte, size))), most)
			require.NoError(t, err)
			n, err := io.Copy(io.Discard, r)
			require.ErrorIs(t, err, says)
			require.EqualValues(t, min(size, most), n)

			path := filepath.Join(t.TempDir(), "file")
			require.NoError(t, os.WriteFile(path, pack(t, make([]byte, size)), 0o600))
			file, err := openFile(path, most)
			require.ErrorIs(t, err, says, "before anything is read")
			if says != nil {
				require.EqualError(t, err, "the file holds more than the limit, which is 1048576 bytes")
				continue
			}
			content, err := io.ReadAll(file)
			require.NoError(t, errors.Join(err, file.Close()))
			require.Len(t, content, size)
		}
	}
}

func TestBrokenFilesAreRefused(t *testing.T) {
	for name, file := range map[string]string{
		"zstd": "\x28\xb5\x2f\xfd and so on",
		"gzip": "\x1f\x8b and so on",
	} {
		r, err := NewReader(bytes.NewReader([]byte(file)))
		if err == nil {
			_, err = io.ReadAll(r)
		}
		require.ErrorIs(t, err, ErrBroken, name)
		require.ErrorContains(t, err, "after 0 bytes of its content", name)
	}
}

func TestABrokenFileSaysHowFarItIsWhole(t *testing.T) {
	content := bytes.Repeat([]byte("what is whole "), 10000)
	file := gzipped(t, content)
	file[len(file)-6] ^= 0xff // its checksum
	r, err := NewReader(bytes.NewReader(file))
	require.NoError(t, err)
	read, err := io.ReadAll(r)
	require.ErrorIs(t, err, ErrBroken)
	require.Equal(t, content, read)
	require.ErrorContains(t, err, fmt.Sprintf("after %d bytes of its content", len(content)))
}

func TestLinksInFoldersAreNotFollowed(t *testing.T) {
	dir := t.TempDir()
	folder, link := filepath.Join(dir, "folder"), filepath.Join(dir, "link")
	require.NoError(t, os.Mkdir(folder, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "plain.zst"), nil, 0o600))
	require.NoError(t, os.Symlink(folder, link))
	require.NoError(t, os.Symlink("plain.zst", filepath.Join(folder, "linked.zst")))
	found, err := FindIn(folder, "plain")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(folder, "plain.zst"), found)
	_, err = FindIn(folder, "linked")
	require.ErrorContains(t, err, "expected a regular file "+filepath.Join(folder, "linked.zst"))
	for _, name := range []string{link, link + "/", link + "/."} {
		_, err = FindIn(name, "plain")
		require.ErrorIs(t, err, ErrLink)
		require.ErrorContains(t, err, "found that "+name+" is a symbolic link")
	}
	_, err = FindIn(folder, "none")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// FuzzReader requires that unreadable input is refused with a position.
func FuzzReader(f *testing.F) {
	f.Add(packedBytes(f, []byte("hello")))
	f.Add(gzipped(f, []byte("hello")))
	f.Add([]byte("hello"))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := NewReader(bytes.NewReader(file))
		if err == nil {
			_, err = io.Copy(io.Discard, io.LimitReader(r, 1<<20))
			require.NoError(t, r.Close())
		}
		if err != nil && err != io.ErrUnexpectedEOF {
			require.Regexp(t, ` after [0-9]+ bytes of its content: `, err.Error())
		}
	})
}
