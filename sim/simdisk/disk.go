package simdisk

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// Disk is the disk of one host. Its zero value is one that syncs at once and does not
// remember what was synced.
type Disk struct {
	mu      sync.Mutex // guards what follows; never held while anything waits
	delay   time.Duration
	onSync  func()
	tracked map[inode]image // what of each file is on the disk for sure; nil until Track
	scratch []byte          // what is being read
}

// inode is a file, whatever its name. A log's file is synced under one name and then
// gets another.
type inode struct{ device, number uint64 }

// image is what a file holds, without zeros at its end.
type image []byte

// SetDelay sets what each sync takes that begins from now on.
func (d *Disk) SetDelay(delay time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.delay = delay
}

// OnSync has f called by each sync, on its goroutine, before anything has got to the
// disk. It may wait.
func (d *Disk) OnSync(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.onSync = f
}

// Sync is what fsync and fdatasync do with an open file. What the disk has afterwards
// is what the file held when the sync began.
func (d *Disk) Sync(fd int) {
	d.mu.Lock()
	onSync, delay := d.onSync, d.delay
	var file inode
	var synced image
	if d.tracked != nil {
		file, synced = d.reopen(fd)
	}
	d.mu.Unlock()

	if onSync != nil {
		onSync()
	}
	if delay > 0 {
		time.Sleep(delay)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if file != (inode{}) && d.tracked != nil {
		d.tracked[file] = synced
	}
}

// reopen reads what an open file holds: through another descriptor, as logs are open
// for writing alone. The zero inode is for a folder. That it cannot be read is a
// mistake of this package.
func (d *Disk) reopen(fd int) (inode, image) {
	file, held, err := d.read(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		panic(fmt.Errorf("simdisk: read what is synced: %w", err))
	}
	return file, held
}

func (d *Disk) read(path string) (inode, image, error) {
	file, err := os.Open(path)
	if err != nil {
		return inode{}, image{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return inode{}, image{}, err
	}
	size := int(info.Size())
	if len(d.scratch) < size {
		d.scratch = make([]byte, 2*size)
	}
	content := d.scratch[:size]
	if _, err := io.ReadFull(file, content); err != nil {
		return inode{}, image{}, err
	}
	return inodeOf(info), image(bytes.Clone(withoutZeros(content))), nil
}

func inodeOf(info os.FileInfo) inode {
	stat := info.Sys().(*syscall.Stat_t)
	return inode{device: uint64(stat.Dev), number: stat.Ino}
}

// withoutZeros leaves out the sectors at the end that hold nothing: most of a log is
// still unwritten.
func withoutZeros(content []byte) []byte {
	var zeros [sectorBytes]byte
	for len(content) > 0 {
		start := (len(content) - 1) / sectorBytes * sectorBytes
		if !bytes.Equal(content[start:], zeros[:len(content)-start]) {
			break
		}
		content = content[:start]
	}
	return content
}
