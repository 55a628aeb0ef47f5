package simdisk

import "bytes"

// sectorBytes is what a disk writes whole or not at all.
const sectorBytes = 512

// Track has the disk remember from now on what of the files below a folder is synced,
// and of all that are synced later. What they hold now counts as synced: a disk may
// write at any time what it was given. A folder that is not there yet holds nothing.
func (d *Disk) Track(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tracked = map[uint64]image{}
	eachFile(dir, func(n *node) { d.tracked[n.number] = n.image() })
}

// Forget ends what Track began: nothing that is written is lost any more.
func (d *Disk) Forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tracked = nil
}

// Fail makes the files below a folder what the power's failing leaves of them. Each
// sector that was written and not synced since is kept if keep says so; otherwise it is
// what it was when it was last synced. A file that was never synced stays as it is. It
// returns how many sectors were lost.
func (d *Disk) Fail(dir string, keep func() bool) (lost int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	eachFile(dir, func(n *node) {
		if synced, ok := d.tracked[n.number]; ok {
			lost += synced.restore(n, keep)
		}
	})
	return lost
}

// restore gives a file what the image has of it, but for the sectors that are kept.
func (i image) restore(n *node, keep func() bool) (lost int) {
	// The size is that of now: what a file grew by without a sync reads as zeros.
	for from := 0; from < n.size; from += sectorBytes {
		sector := n.content()[from:min(from+sectorBytes, n.size)]
		old := i.sector(from, len(sector))
		if bytes.Equal(sector, old) || keep() {
			continue
		}
		copy(sector, old)
		n.written = max(n.written, from+len(sector))
		lost++
	}
	return lost
}

// sector is what the image has at an offset.
func (i image) sector(from, size int) []byte {
	sector := make([]byte, size)
	if from < len(i) {
		copy(sector, i[from:])
	}
	return sector
}

// eachFile calls f with each file below a folder, in the order of their names.
func eachFile(dir string, f func(*node)) {
	found, _, _, errno := walk(dir)
	if errno != 0 || found == nil {
		return
	}
	var visit func(*node)
	visit = func(n *node) {
		for _, e := range n.entries {
			if e.node.folder {
				visit(e.node)
			} else {
				f(e.node)
			}
		}
	}
	visit(found)
}
