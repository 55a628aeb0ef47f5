package simdisk

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"syscall"
	"unsafe"
)

// walk resolves a path to its node, the folder that contains it, and its name there.
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

// newNode creates a file or a folder in another folder.
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

// at resolves a path, or a descriptor if the path is empty.
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

// list writes the entries of a folder as getdents64(2) does.
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
	case moved.contains(into):
		return syscall.EINVAL
	case replaced == moved:
		return 0
	case replaced == nil:
	case replaced.contains(parent):
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

// contains reports whether a folder is another one or has it somewhere below.
func (n *node) contains(other *node) bool {
	return n == other || slices.ContainsFunc(n.entries, func(e entry) bool { return e.node.folder && e.node.contains(other) })
}
