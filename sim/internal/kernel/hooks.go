package kernel

import (
	"context"
	"net"
	"syscall"
	"unsafe"
)

// Network answers the dials and listens of simulated goroutines. The edited package net
// declares the same struct; keep both alike.
type Network struct {
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Listen func(ctx context.Context, network, address string) (net.Listener, error)
}

// SetNetwork sets the network of simulated goroutines.
func SetNetwork(n *Network) { Runtime().setHook(0, unsafe.Pointer(n)) }

// Processes handles what simulated processes do to themselves. The edited package os declares the
// same struct; keep both alike.
type Processes struct {
	Exit func(code int) // of the calling goroutine's process; if it returns, the real process exits
	Host func() string  // the name of that process' host
}

// SetProcesses sets the handler.
func SetProcesses(p *Processes) { Runtime().setHook(2, unsafe.Pointer(p)) }

// Root is the folder below which all files are in memory.
const Root = "/simulated"

// Files in memory have these descriptors.
const (
	DescriptorMin = 1 << 20
	Descriptors   = 1 << 14
)

// Files answers system calls on files in memory, with zero for success. The edited
// package syscall declares the same struct; keep both alike.
type Files struct {
	Open      func(path string, flags int, mode uint32) (fd int, errno syscall.Errno)
	Close     func(fd int) syscall.Errno
	Read      func(fd int, p []byte, offset int64) (n int, errno syscall.Errno) // offset -1 for where the descriptor is
	Write     func(fd int, p []byte, offset int64) (n int, errno syscall.Errno)
	Seek      func(fd int, offset int64, whence int) (int64, syscall.Errno)
	Stat      func(path string, fd int, stat *syscall.Stat_t) syscall.Errno // fd if path is empty
	Truncate  func(path string, fd int, length int64) syscall.Errno
	Grow      func(fd int, length int64) syscall.Errno
	List      func(fd int, p []byte) (n int, errno syscall.Errno)
	Mkdir     func(path string, mode uint32) syscall.Errno
	Remove    func(path string, dir bool) syscall.Errno
	RemoveAll func(path string) syscall.Errno
	Rename    func(from, to string) syscall.Errno
	Sync      func(fd int) // of any file, by simulated goroutines alone

	// Share returns where a piece of an open file is in memory, to read and perhaps to write there.
	Share func(fd int, offset, length int64, write bool) (address uintptr, errno syscall.Errno)
	// From and To bound the memory of all files.
	From, To uintptr
}

// SetFiles sets the implementation of files in memory.
func SetFiles(f *Files) { Runtime().setHook(1, unsafe.Pointer(f)) }
