package simdisk

import (
	"bytes"
	gosync "sync"
	"time"
)

// Disk is the disk of one host. The zero value syncs at once and does not track syncs.
type Disk struct {
	mu      gosync.Mutex // guards what follows; never held while anything waits
	delay   time.Duration
	onSync  func()
	tracked map[uint64]image // what of each file is on the disk for sure, by number; nil until Track
}

// image is the content of a file, without trailing zeros.
type image []byte

// SetDelay sets the duration of syncs that begin from now on.
func (d *Disk) SetDelay(delay time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.delay = delay
}

// OnSync makes each sync call f on its goroutine, before anything reaches the disk. f may
// wait.
func (d *Disk) OnSync(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.onSync = f
}

// Sync implements fsync and fdatasync of an open file. The disk then has what the file
// contained when the sync began.
func (d *Disk) Sync(fd int) {
	d.mu.Lock()
	onSync, delay := d.onSync, d.delay
	var number uint64
	var synced image
	if h := of(fd); h != nil && d.tracked != nil && !h.node.folder {
		number, synced = h.node.number, h.node.image()
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
	if number != 0 && d.tracked != nil {
		d.tracked[number] = synced
	}
}

// syncs returns the disk that syncs for the calling goroutine.
var syncs func(fd int)

// OnAnySync sets the function that returns the disk for a goroutine that syncs a file.
func OnAnySync(f func(fd int)) { syncs = f }

func sync(fd int) {
	if syncs != nil {
		syncs(fd)
	}
}

// image copies the content of a file.
func (n *node) image() image {
	return image(bytes.Clone(withoutZeros(n.content()[:min(n.size, n.written)])))
}

// withoutZeros drops trailing sectors of zeros: most of a preallocated log is still
// unwritten.
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
