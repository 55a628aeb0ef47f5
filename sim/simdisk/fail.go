package simdisk

import "bytes"

// sectorBytes is the unit that a disk writes atomically.
const sectorBytes = 512

// Track makes the disk track which content of the files below a folder is synced. Their current
// content counts as synced: a disk may write its data at any time. A folder that does not exist yet
// counts as empty.
func (d *Disk) Track(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tracked = map[uint64]image{}
	eachFile(dir, func(n *node) { d.tracked[n.number] = n.image() })
}

// Forget ends Track: no write is lost any more.
func (d *Disk) Forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tracked = nil
}

// Fail reduces the files below a folder to what survives a power failure. Each unsynced
// sector is kept if keep says so, and otherwise reverts to its last synced content. A file
// that was never synced stays as it is. Fail returns how many sectors were lost.
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

// restore reverts a file to its image, except for the sectors that are kept.
func (i image) restore(n *node, keep func() bool) (lost int) {
	// The size stays the current one: what was appended without a sync reads as zeros.
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

// sector returns the content of the image at an offset.
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
