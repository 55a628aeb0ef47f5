package simdisk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// TestFilesInMemoryAreLikeFilesOnADisk does the same with files in memory and with files
// of the operating system, and compares what it is told.
func TestFilesInMemoryAreLikeFilesOnADisk(t *testing.T) {
	memory, disk := newFolder(t), t.TempDir()
	defer unix.Umask(unix.Umask(0)) // files in memory know none
	runs := 0
	rapid.Check(t, func(r *rapid.T) {
		runs++
		p := &pair{r: r, roots: [2]string{filepath.Join(memory, fmt.Sprint(runs)), filepath.Join(disk, fmt.Sprint(runs))}}
		for _, root := range p.roots {
			require.NoError(r, os.Mkdir(root, 0o755))
		}
		defer p.close()
		r.Repeat(map[string]func(*rapid.T){
			"open":      p.open,
			"shut":      p.shut,
			"read":      p.read,
			"write":     p.write,
			"seek":      p.seek,
			"resize":    p.resize,
			"list":      p.list,
			"map":       p.mapMemory,
			"mkdir":     p.mkdir,
			"remove":    p.remove,
			"removeAll": p.removeAll,
			"rename":    p.rename,
			"stat":      p.stat,
			"whole":     p.whole,
			"rawPath":   p.rawPath,
			"rawFile":   p.rawFile,
			"":          p.tree,
		})
	})
}

// pair is two folders, one in memory and one that is not, with files that are open in both.
type pair struct {
	r     *rapid.T
	roots [2]string
	files []twins
}

// twins are a file in both folders.
type twins struct {
	files    [2]*os.File
	readable bool
	maps     [2][]byte
	mapped   int64 // from where
}

// both does something in both folders and compares what it returns.
func (p *pair) both(r *rapid.T, what string, do func(root string, side int) string) {
	said := [2]string{}
	for side, root := range p.roots {
		said[side] = strings.ReplaceAll(do(root, side), root, "")
	}
	require.Equal(r, said[1], said[0], "%s: what the disk does, and what the files in memory do", what)
	r.Logf("%s: %s", what, said[0])
}

var names = rapid.SampledFrom([]string{"a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "a/b", "no/such"})

func name(r *rapid.T, label string) string { return names.Draw(r, label) }

// file draws one of the files that are open.
func (p *pair) file(r *rapid.T) *twins {
	if len(p.files) == 0 {
		r.Skip("nothing is open")
	}
	return &p.files[rapid.IntRange(0, len(p.files)-1).Draw(r, "file")]
}

func (p *pair) open(r *rapid.T) {
	path := name(r, "path")
	access := rapid.SampledFrom([]int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR}).Draw(r, "access")
	flags := access
	for _, flag := range []int{os.O_CREATE, os.O_CREATE, os.O_EXCL, os.O_TRUNC, os.O_APPEND} {
		if rapid.Bool().Draw(r, "flag") {
			flags |= flag
		}
	}
	if flags&os.O_CREATE == 0 {
		flags &^= os.O_EXCL // undefined
	}
	if flags&os.O_TRUNC != 0 && access == os.O_RDONLY {
		flags &^= os.O_TRUNC // unspecified
	}
	mode := rapid.SampledFrom([]fs.FileMode{0o600, 0o644, 0o400}).Draw(r, "mode")
	var opened [2]*os.File
	p.both(r, fmt.Sprintf("open %s %x", path, flags), func(root string, side int) string {
		file, err := os.OpenFile(filepath.Join(root, path), flags, mode)
		if err == nil {
			opened[side] = file
		}
		return fmt.Sprint(err)
	})
	if opened[0] != nil {
		p.files = append(p.files, twins{files: opened, readable: access != os.O_WRONLY})
	}
}

func (p *pair) shut(r *rapid.T) {
	if len(p.files) == 0 {
		r.Skip("nothing is open")
	}
	i := rapid.IntRange(0, len(p.files)-1).Draw(r, "file")
	p.files[i].unmap()
	p.both(r, "close", func(_ string, side int) string { return fmt.Sprint(p.files[i].files[side].Close()) })
	p.files = append(p.files[:i], p.files[i+1:]...)
}

// close ends what a run has open, and removes the rest.
func (p *pair) close() {
	defer func() {
		for _, root := range p.roots {
			_ = os.RemoveAll(root)
		}
	}()
	for i := range p.files {
		p.files[i].unmap()
		for _, file := range p.files[i].files {
			_ = file.Close()
		}
	}
}

var offsets = rapid.SampledFrom([]int64{0, 1, 100, 511, 512, 513, 4096, 5000})

func (p *pair) read(r *rapid.T) {
	file, size, at := p.file(r), rapid.IntRange(0, 600).Draw(r, "size"), offsets.Draw(r, "at")
	where := rapid.Bool().Draw(r, "where")
	info, err := file.files[0].Stat()
	require.NoError(r, err)
	p.both(r, "read", func(_ string, side int) string {
		buffer := make([]byte, size)
		var n int
		var err error
		if where {
			n, err = file.files[side].ReadAt(buffer, at)
		} else {
			n, err = file.files[side].Read(buffer)
		}
		if info.IsDir() {
			return fmt.Sprint(err == nil) // how it fails depends on what has been listed, and on the file system
		}
		return fmt.Sprint(n, err, buffer[:max(n, 0)])
	})
}

func (p *pair) write(r *rapid.T) {
	file, at := p.file(r), offsets.Draw(r, "at")
	text := []byte(strings.Repeat(rapid.SampledFrom([]string{"x", "yz", "\x00", ""}).Draw(r, "text"), rapid.IntRange(0, 700).Draw(r, "times")))
	where := rapid.Bool().Draw(r, "where")
	p.both(r, "write", func(_ string, side int) string {
		var n int
		var err error
		if where {
			n, err = file.files[side].WriteAt(text, at)
		} else {
			n, err = file.files[side].Write(text)
		}
		return fmt.Sprint(n, err, file.files[side].Sync())
	})
}

func (p *pair) seek(r *rapid.T) {
	file, at := p.file(r), rapid.SampledFrom([]int64{-1, 0, 1, 300, 5000}).Draw(r, "at")
	whence := rapid.IntRange(0, 2).Draw(r, "whence")
	info, err := file.files[0].Stat()
	require.NoError(r, err)
	if info.IsDir() {
		at, whence = 0, 0 // what lies where in a folder is the file system's affair
	}
	p.both(r, "seek", func(_ string, side int) string { return fmt.Sprint(file.files[side].Seek(at, whence)) })
}

func (p *pair) resize(r *rapid.T) {
	size := rapid.SampledFrom([]int64{-1, 0, 1, 700, 512, 9000}).Draw(r, "size")
	if rapid.Bool().Draw(r, "by its path") {
		path := name(r, "path")
		p.both(r, fmt.Sprint("truncate ", path, size), func(root string, _ int) string { return fmt.Sprint(os.Truncate(filepath.Join(root, path), size)) })
		return
	}
	file := p.file(r)
	if rapid.Bool().Draw(r, "allocate") {
		p.both(r, fmt.Sprint("fallocate ", size), func(_ string, side int) string {
			return fmt.Sprint(syscall.Fallocate(int(file.files[side].Fd()), 0, 0, size))
		})
		return
	}
	p.both(r, fmt.Sprint("ftruncate ", size), func(_ string, side int) string { return fmt.Sprint(file.files[side].Truncate(size)) })
}

// list reads on in a folder.
func (p *pair) list(r *rapid.T) {
	file := p.file(r)
	p.both(r, "list", func(_ string, side int) string {
		entries, err := file.files[side].ReadDir(-1)
		return fmt.Sprint(listed(entries), err)
	})
}

// listed are entries in the order of their names: which comes first in a folder is the
// file system's affair.
func listed(entries []fs.DirEntry) string {
	var names []string
	for _, entry := range entries {
		names = append(names, fmt.Sprint(entry.Name(), entry.IsDir(), entry.Type()))
	}
	sort.Strings(names)
	return fmt.Sprint(names)
}

// mapMemory maps a file as bbolt does, to be read and longer than it is, and looks at what
// there is of it.
func (p *pair) mapMemory(r *rapid.T) {
	const length, page = 16 << 10, 4 << 10
	file := p.file(r)
	info, err := file.files[0].Stat()
	require.NoError(r, err)
	if !file.readable || info.IsDir() {
		r.Skip("it cannot be mapped")
	}
	if file.maps[0] == nil {
		file.mapped = rapid.SampledFrom([]int64{0, 0, page}).Draw(r, "from")
		for side := range file.files {
			file.maps[side], err = unix.Mmap(int(file.files[side].Fd()), file.mapped, length, unix.PROT_READ, unix.MAP_SHARED)
			require.NoError(r, err)
		}
	}
	size := max(0, min(info.Size()-file.mapped, length))
	p.both(r, "map", func(_ string, side int) string { return fmt.Sprint(file.maps[side][:size]) })
}

func (f *twins) unmap() {
	for _, mapped := range f.maps {
		if mapped != nil {
			_ = unix.Munmap(mapped)
		}
	}
}

func (p *pair) mkdir(r *rapid.T) {
	path := name(r, "path")
	make := rapid.SampledFrom([]func(string, fs.FileMode) error{os.Mkdir, os.MkdirAll}).Draw(r, "how")
	p.both(r, "mkdir "+path, func(root string, _ int) string { return fmt.Sprint(make(filepath.Join(root, path), 0o750)) })
}

func (p *pair) remove(r *rapid.T) {
	path := name(r, "path")
	p.both(r, "remove "+path, func(root string, _ int) string { return fmt.Sprint(os.Remove(filepath.Join(root, path))) })
}

func (p *pair) removeAll(r *rapid.T) {
	path := name(r, "path")
	p.both(r, "remove all of "+path, func(root string, _ int) string {
		err := os.RemoveAll(filepath.Join(root, path))
		var number unix.Errno // the rest of it says how package os went about it
		errors.As(err, &number)
		return fmt.Sprint(err == nil, number)
	})
}

func (p *pair) rename(r *rapid.T) {
	from, to := name(r, "from"), name(r, "to")
	p.both(r, "rename "+from+" "+to, func(root string, _ int) string {
		return fmt.Sprint(os.Rename(filepath.Join(root, from), filepath.Join(root, to)))
	})
}

// described is what a file is, but for what only its file system knows.
func described(info fs.FileInfo, err error) string {
	if err != nil {
		return fmt.Sprint(err)
	}
	if info.IsDir() {
		return fmt.Sprint(info.Name(), info.Mode())
	}
	return fmt.Sprint(info.Name(), info.Mode(), info.Size())
}

func (p *pair) stat(r *rapid.T) {
	if rapid.Bool().Draw(r, "open") {
		file := p.file(r)
		p.both(r, "fstat", func(_ string, side int) string {
			info, err := file.files[side].Stat()
			return described(info, err)
		})
		return
	}
	path := name(r, "path")
	stat := rapid.SampledFrom([]func(string) (fs.FileInfo, error){os.Stat, os.Lstat}).Draw(r, "how")
	p.both(r, "stat "+path, func(root string, _ int) string { return described(stat(filepath.Join(root, path))) })
}

// whole reads or writes a whole file.
func (p *pair) whole(r *rapid.T) {
	path := name(r, "path")
	if rapid.Bool().Draw(r, "write") {
		p.both(r, "write the whole of "+path, func(root string, _ int) string {
			return fmt.Sprint(os.WriteFile(filepath.Join(root, path), []byte("whole "+path), 0o600))
		})
		return
	}
	p.both(r, "read the whole of "+path, func(root string, _ int) string {
		content, err := os.ReadFile(filepath.Join(root, path))
		return fmt.Sprint(content, err)
	})
}

// tree is everything that there is, with what it holds.
func (p *pair) tree(r *rapid.T) {
	p.both(r, "tree", func(root string, _ int) string {
		var b strings.Builder
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || path == root {
				return err
			}
			info, err := entry.Info()
			fmt.Fprintln(&b, path, described(info, err))
			if entry.IsDir() {
				return nil
			}
			content, err := os.ReadFile(path)
			fmt.Fprintln(&b, content, err)
			return nil
		})
		return fmt.Sprint(b.String(), err)
	})
}
