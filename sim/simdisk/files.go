package simdisk

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/sim/internal/kernel"
)

// Root is the folder below which all files are in memory. It always exists.
const Root = kernel.Root

// The limits of files in memory. Exceeding one returns the error in brackets, as on a full disk.
const (
	// FileMax is the size of a file, in bytes (EFBIG).
	FileMax = 256 << 20
	// FilesMax is the largest number of files at a time, including removed ones that are still open
	// (ENOSPC).
	FilesMax = 4 << 10
	// Capacity is the total size of all files, in bytes (ENOSPC).
	Capacity = 1 << 30
	// OpenMax is the largest number of open files, including those of crashed processes (EMFILE).
	OpenMax = kernel.Descriptors
)

// files are all files of a process. They have no lock, take no time and draw no random
// number: one goroutine runs at a time, and access to a file must not affect other
// goroutines.
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

// Mount creates Root and routes system calls below it here. Further calls do nothing.
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
		Share: share, From: from, To: from + uintptr(len(arena)),
	})
	return nil
}

// FullReason says why a run that has reached a limit of the files is inconclusive.
const FullReason = "the simulated disk is full: the files of the run have hit a limit of package simdisk"

// Full reports whether a limit of the files was reached.
func Full() bool { return files.full }

// content is the memory of a file, reserved for its maximum size.
func (n *node) content() []byte { return files.arena[n.piece*FileMax : (n.piece+1)*FileMax] }

// release frees the memory of a file that is no longer reachable.
func (n *node) release() {
	if n.folder || !n.gone || n.open > 0 {
		return
	}
	clear(n.content()[:n.written])
	files.used -= int64(n.size)
	n.size, n.written = 0, 0
	files.free = append(files.free, n.piece)
}

// lose removes a name of a node.
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
	files.shut = append(files.shut, fd-kernel.DescriptorMin)
	n.open--
	n.release()
	return 0
}

// share returns where a piece of a file is in memory.
func share(fd int, offset, length int64, write bool) (uintptr, syscall.Errno) {
	h := of(fd)
	switch {
	case h == nil:
		return 0, syscall.EBADF
	case h.node.folder:
		return 0, syscall.ENODEV
	case !h.readable || write && !h.writable:
		return 0, syscall.EACCES
	case offset < 0 || offset >= FileMax || length <= 0 || write && offset+length > FileMax:
		return 0, syscall.EINVAL // where nothing is written, a map may be larger than any file, as bbolt's are
	}
	if write {
		h.node.written = max(h.node.written, int(offset+length))
	}
	return uintptr(unsafe.Pointer(&h.node.content()[offset])), 0
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

// resize changes the size of a file; added bytes read as zeros.
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
