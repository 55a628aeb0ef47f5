package simdisk

import (
	"bytes"
	gosync "sync"
	"time"
)

// Disk is the disk of one host. Its zero value is one that syncs at once and does not
// remember what was synced.
type Disk struct {
	mu      gosync.Mutex // guards what follows; never held while anything waits
	delay   time.Duration
	onSync  func()
	tracked map[uint64]image // what of each file is on the disk for sure, by number; nil until Track
}

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

// syncs says which disk syncs for the calling goroutine.
var syncs func(fd int)

// OnAnySync says who is asked when a simulated goroutine syncs a file.
func OnAnySync(f func(fd int)) { syncs = f }

func sync(fd int) {
	if syncs != nil {
		syncs(fd)
	}
}

// image copies what a file holds.
func (n *node) image() image {
	return image(bytes.Clone(withoutZeros(n.content()[:min(n.size, n.written)])))
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
