package simdisk

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/sim/internal/kernel"
)

// Root is the folder below which all files are in memory. It is always there.
const Root = kernel.Root

// The limits of files in memory. Whoever hits one gets the error in brackets, as on a
// disk that is full.
const (
	// FileMax is the size of a file, in bytes (EFBIG).
	FileMax = 64 << 20
	// FilesMax is how many files there are at one time, removed ones that are still
	// open included (ENOSPC).
	FilesMax = 4 << 10
	// Capacity is what all files have room for, in bytes (ENOSPC).
	Capacity = 1 << 30
	// OpenMax is how many files are open at one time, those of crashed processes
	// included (EMFILE).
	OpenMax = kernel.Descriptors
)

// files are all that there are in a process. It has no lock, takes no time and draws no
// random number: one goroutine runs at a time, and none may notice that another has
// looked at a file.
var files struct {
	root   *node
	arena  []byte // FilesMax pieces of FileMax bytes; what was never written takes no room
	free   []int  // pieces that are free again
	pieces int    // that have been in use
	nodes  uint64 // made so far
	used   int64
	full   bool // a limit was hit
	open   []handle
	shut   []int // descriptors that are free again, less kernel.DescriptorMin
	region [kernel.Descriptors]uintptr
}

// node is a file or a folder.
type node struct {
	number  uint64
	mode    uint32
	entries []entry // of a folder, in order of their names
	folder  bool
	gone    bool // it has no name any more
	open    int  // descriptors
	piece   int  // of the arena, of a file
	size    int
	written int // what may hold something else than zeros, from the beginning
}

type entry struct {
	name string
	node *node
}

type handle struct {
	node     *node
	offset   int64
	appends  bool
	listed   int // entries of a folder that have been read
	readable bool
	writable bool
}

// Mount makes the files below Root. Further calls do nothing.
func Mount() error {
	if files.root != nil {
		return nil
	}
	memory, err := unix.MmapPtr(-1, 0, nil, FilesMax*FileMax, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("cannot reserve addresses for %d files of %d MiB in memory: %w", FilesMax, FileMax>>20, err)
	}
	arena := unsafe.Slice((*byte)(memory), FilesMax*FileMax)
	files.arena = arena
	files.root = &node{number: 1, mode: 0o755, folder: true}
	files.nodes = 1
	from := uintptr(unsafe.Pointer(unsafe.SliceData(arena)))
	kernel.SetFiles(&kernel.Files{
		Open: open, Close: shut, Read: read, Write: write, Seek: seek, Stat: stat, Truncate: truncate, Grow: grow,
		List: list, Mkdir: mkdir, Remove: remove, RemoveAll: removeAll, Rename: rename, Sync: sync,
		Region: &files.region, From: from, To: from + uintptr(len(arena)),
	})
	return nil
}

// FullReason is why a run decides nothing that has hit a limit of the files.
const FullReason = "the simulated disk is full: the files of the run have hit a limit of package simdisk"

// Full reports whether a limit of the files has been hit.
func Full() bool { return files.full }

// content is the memory of a file, all of what it may become.
func (n *node) content() []byte { return files.arena[n.piece*FileMax : (n.piece+1)*FileMax] }

// walk returns what a path leads to, the folder that it is in, and its name there.
func walk(name string) (found, parent *node, last string, errno syscall.Errno) {
	clean := path.Clean(name)
	found = files.root
	rest := strings.TrimPrefix(clean, Root)
	for rest != "" {
		rest = strings.TrimPrefix(rest, "/")
		last, rest, _ = strings.Cut(rest, "/")
		if found == nil {
			return nil, nil, "", syscall.ENOENT
		}
		if !found.folder {
			return nil, nil, "", syscall.ENOTDIR
		}
		parent = found
		found = parent.entry(last)
	}
	return found, parent, last, 0
}

func (n *node) place(name string) (int, bool) {
	return slices.BinarySearchFunc(n.entries, name, func(e entry, name string) int { return cmp.Compare(e.name, name) })
}

func (n *node) entry(name string) *node {
	if i, ok := n.place(name); ok {
		return n.entries[i].node
	}
	return nil
}

func (n *node) put(name string, child *node) {
	i, ok := n.place(name)
	if ok {
		n.entries[i].node = child
		return
	}
	n.entries = slices.Insert(n.entries, i, entry{name, child})
}

func (n *node) drop(name string) {
	if i, ok := n.place(name); ok {
		n.entries = slices.Delete(n.entries, i, i+1)
	}
}

// newNode makes a file or a folder in another folder.
func newNode(parent *node, name string, mode uint32, folder bool) (*node, syscall.Errno) {
	piece := 0
	if !folder {
		switch n := len(files.free); {
		case n > 0:
			piece = files.free[n-1]
			files.free = files.free[:n-1]
		case files.pieces == FilesMax:
			files.full = true
			return nil, syscall.ENOSPC
		default:
			piece = files.pieces
			files.pieces++
		}
	}
	files.nodes++
	made := &node{number: files.nodes, mode: mode & 0o777, folder: folder, piece: piece}
	parent.put(name, made)
	return made, 0
}

// release frees the memory of a file that nobody can reach any more.
func (n *node) release() {
	if n.folder || !n.gone || n.open > 0 {
		return
	}
	clear(n.content()[:n.written])
	files.used -= int64(n.size)
	n.size, n.written = 0, 0
	files.free = append(files.free, n.piece)
}

// lose takes a name from what it leads to.
func (n *node) lose() {
	n.gone = true
	n.release()
}

func open(name string, flags int, mode uint32) (int, syscall.Errno) {
	found, parent, last, errno := walk(name)
	if errno != 0 {
		return -1, errno
	}
	writable := flags&(syscall.O_WRONLY|syscall.O_RDWR) != 0
	switch {
	case found == nil && flags&syscall.O_CREAT == 0:
		return -1, syscall.ENOENT
	case found == nil:
		if found, errno = newNode(parent, last, mode, false); errno != 0 {
			return -1, errno
		}
	case flags&syscall.O_CREAT != 0 && flags&syscall.O_EXCL != 0:
		return -1, syscall.EEXIST
	case found.folder && (writable || flags&syscall.O_CREAT != 0):
		return -1, syscall.EISDIR
	case !found.folder && flags&syscall.O_DIRECTORY != 0:
		return -1, syscall.ENOTDIR
	}
	if flags&syscall.O_TRUNC != 0 && writable {
		found.resize(0)
	}
	place := len(files.open)
	if n := len(files.shut); n > 0 {
		place = files.shut[n-1]
		files.shut = files.shut[:n-1]
	} else if place == OpenMax {
		files.full = true
		return -1, syscall.EMFILE
	} else {
		files.open = append(files.open, handle{})
	}
	files.open[place] = handle{node: found, appends: flags&syscall.O_APPEND != 0, readable: flags&syscall.O_WRONLY == 0, writable: writable}
	found.open++
	if !found.folder {
		files.region[place] = uintptr(unsafe.Pointer(unsafe.SliceData(found.content())))
	}
	return kernel.DescriptorMin + place, 0
}

// of is an open file.
func of(fd int) *handle {
	if place := fd - kernel.DescriptorMin; place >= 0 && place < len(files.open) && files.open[place].node != nil {
		return &files.open[place]
	}
	return nil
}

func shut(fd int) syscall.Errno {
	h := of(fd)
	if h == nil {
		return syscall.EBADF
	}
	n := h.node
	*h = handle{}
	files.region[fd-kernel.DescriptorMin] = 0
	files.shut = append(files.shut, fd-kernel.DescriptorMin)
	n.open--
	n.release()
	return 0
}

func read(fd int, p []byte, offset int64) (int, syscall.Errno) {
	h := of(fd)
	switch {
	case h == nil || !h.readable:
		return -1, syscall.EBADF
	case h.node.folder:
		return -1, syscall.EISDIR
	}
	at := offset
	if offset < 0 {
		at = h.offset
	}
	n := 0
	if at < int64(h.node.size) {
		n = copy(p, h.node.content()[at:h.node.size])
	}
	if offset < 0 {
		h.offset += int64(n)
	}
	return n, 0
}

func write(fd int, p []byte, offset int64) (int, syscall.Errno) {
	h := of(fd)
	if h == nil || !h.writable {
		return -1, syscall.EBADF
	}
	if len(p) == 0 {
		return 0, 0
	}
	at := offset
	switch {
	case h.appends:
		at = int64(h.node.size)
	case offset < 0:
		at = h.offset
	}
	end := at + int64(len(p))
	if end > int64(h.node.size) {
		if errno := h.node.resize(end); errno != 0 {
			return -1, errno
		}
	}
	copy(h.node.content()[at:end], p)
	h.node.written = max(h.node.written, int(end))
	if offset < 0 {
		h.offset = end
	}
	return len(p), 0
}

// resize gives a file another size; what it grows by reads as zeros.
func (n *node) resize(size int64) syscall.Errno {
	switch {
	case n.folder:
		return syscall.EISDIR
	case size > FileMax:
		files.full = true
		return syscall.EFBIG
	case files.used+size-int64(n.size) > Capacity:
		files.full = true
		return syscall.ENOSPC
	}
	if int(size) < n.written {
		clear(n.content()[size:n.written])
		n.written = int(size)
	}
	files.used += size - int64(n.size)
	n.size = int(size)
	return 0
}

func seek(fd int, offset int64, whence int) (int64, syscall.Errno) {
	h := of(fd)
	if h == nil {
		return -1, syscall.EBADF
	}
	switch whence {
	case 1:
		offset += h.offset
	case 2:
		offset += int64(h.node.size)
	}
	if offset < 0 {
		return -1, syscall.EINVAL
	}
	h.offset = offset
	if h.node.folder {
		h.listed = int(offset)
	}
	return offset, 0
}

// at is what a path leads to, or a descriptor if the path is empty.
func at(name string, fd int) (*node, syscall.Errno) {
	if name == "" {
		if h := of(fd); h != nil {
			return h.node, 0
		}
		return nil, syscall.EBADF
	}
	found, _, _, errno := walk(name)
	if errno == 0 && found == nil {
		errno = syscall.ENOENT
	}
	return found, errno
}

func stat(name string, fd int, s *syscall.Stat_t) syscall.Errno {
	n, errno := at(name, fd)
	if errno != 0 {
		return errno
	}
	*s = syscall.Stat_t{Dev: device, Ino: n.number, Nlink: 1, Mode: syscall.S_IFREG | n.mode, Size: int64(n.size), Blksize: sectorBytes, Blocks: int64(n.size+sectorBytes-1) / sectorBytes}
	if n.folder {
		s.Mode = syscall.S_IFDIR | n.mode | 0o700
	}
	return 0
}

// device is the number of the device that files in memory are on.
const device = 0x77

func truncate(name string, fd int, length int64) syscall.Errno {
	if length < 0 {
		return syscall.EINVAL
	}
	if h := of(fd); name == "" && h != nil && !h.writable {
		return syscall.EINVAL
	}
	n, errno := at(name, fd)
	if errno != 0 {
		return errno
	}
	return n.resize(length)
}

func grow(fd int, length int64) syscall.Errno {
	h := of(fd)
	switch {
	case h == nil || !h.writable:
		return syscall.EBADF
	case length <= int64(h.node.size):
		return 0
	}
	return h.node.resize(length)
}

// list writes entries of a folder as getdents64(2) does.
func list(fd int, p []byte) (int, syscall.Errno) {
	h := of(fd)
	switch {
	case h == nil:
		return -1, syscall.EBADF
	case !h.node.folder:
		return -1, syscall.ENOTDIR
	case h.node.gone:
		return -1, syscall.ENOENT
	}
	n := 0
	for ; h.listed < len(h.node.entries); h.listed++ {
		e := h.node.entries[h.listed]
		const header = 19 // number, offset, length of the record, kind
		size := (header + len(e.name) + 1 + 7) / 8 * 8
		if n+size > len(p) {
			if n == 0 {
				return -1, syscall.EINVAL
			}
			break
		}
		record := p[n : n+size]
		clear(record)
		*(*uint64)(unsafe.Pointer(&record[0])) = e.node.number
		*(*uint64)(unsafe.Pointer(&record[8])) = uint64(h.listed + 1)
		*(*uint16)(unsafe.Pointer(&record[16])) = uint16(size)
		record[18] = syscall.DT_REG
		if e.node.folder {
			record[18] = syscall.DT_DIR
		}
		copy(record[header:], e.name)
		n += size
	}
	return n, 0
}

func mkdir(name string, mode uint32) syscall.Errno {
	found, parent, last, errno := walk(name)
	switch {
	case errno != 0:
		return errno
	case found != nil:
		return syscall.EEXIST
	}
	_, errno = newNode(parent, last, mode, true)
	return errno
}

func remove(name string, dir bool) syscall.Errno {
	found, parent, last, errno := walk(name)
	switch {
	case errno != 0:
		return errno
	case found == nil:
		return syscall.ENOENT
	case parent == nil:
		return syscall.EBUSY
	case dir && !found.folder:
		return syscall.ENOTDIR
	case !dir && found.folder:
		return syscall.EISDIR
	case len(found.entries) > 0:
		return syscall.ENOTEMPTY
	}
	parent.drop(last)
	found.lose()
	return 0
}

func removeAll(name string) syscall.Errno {
	found, parent, last, errno := walk(name)
	switch {
	case errno == syscall.ENOENT, errno == 0 && found == nil:
		return 0 // there is nothing to remove
	case errno != 0:
		return errno
	}
	found.loseAll()
	if parent == nil {
		found.entries, found.gone = nil, false
		return 0
	}
	parent.drop(last)
	return 0
}

func (n *node) loseAll() {
	for _, e := range n.entries {
		e.node.loseAll()
	}
	n.lose()
}

func rename(from, to string) syscall.Errno {
	if to != Root && !strings.HasPrefix(to, Root+"/") {
		return syscall.EXDEV
	}
	moved, parent, last, errno := walk(from)
	if errno != 0 {
		return errno
	}
	replaced, into, name, errno := walk(to)
	switch {
	case errno != 0:
		return errno
	case parent == nil || into == nil:
		return syscall.EBUSY
	case moved == nil:
		return syscall.ENOENT
	case moved.holds(into):
		return syscall.EINVAL
	case replaced == moved:
		return 0
	case replaced == nil:
	case replaced.holds(parent):
		return syscall.ENOTEMPTY
	case moved.folder && !replaced.folder:
		return syscall.ENOTDIR
	case !moved.folder && replaced.folder:
		return syscall.EISDIR
	case len(replaced.entries) > 0:
		return syscall.ENOTEMPTY
	}
	parent.drop(last)
	into.put(name, moved)
	if replaced != nil {
		replaced.lose()
	}
	return 0
}

// holds reports whether a folder is another one, or has it somewhere below.
func (n *node) holds(other *node) bool {
	return n == other || slices.ContainsFunc(n.entries, func(e entry) bool { return e.node.folder && e.node.holds(other) })
}
