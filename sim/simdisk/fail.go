package simdisk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// sectorBytes is what a disk writes whole or not at all.
const sectorBytes = 512

// Track has the disk remember from now on what of the files below a folder is synced,
// and of all that are synced later. What they hold now counts as synced: a disk may
// write at any time what it was given. A folder that is not there yet holds nothing.
func (d *Disk) Track(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tracked = map[inode]image{}
	err := eachFile(dir, func(path string) error {
		file, held, err := d.read(path)
		d.tracked[file] = held
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(fmt.Errorf("simdisk: look at what %s holds: %w", dir, err))
	}
}

// Forget ends what Track began: nothing that is written is lost any more.
func (d *Disk) Forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tracked = nil
}

// Fail makes the files below the folder copied what the power's failing leaves of those
// below dir, of which it is a copy. Each sector that was written and not synced since is
// kept if keep says so; otherwise it is what it was when it was last synced. A file that
// was never synced stays as it is. It returns how many sectors were lost.
func (d *Disk) Fail(dir, copied string, keep func() bool) (lost int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	err = eachFile(dir, func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		synced, ok := d.tracked[inodeOf(info)]
		if !ok {
			return nil
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		in := filepath.Join(copied, relative)
		count, err := synced.restore(in, keep)
		lost += count
		return err
	})
	if err != nil {
		return lost, fmt.Errorf("simdisk: undo what %s did not sync: %w", dir, err)
	}
	return lost, nil
}

// restore gives a file what the image has of it, but for the sectors that are kept.
func (i image) restore(path string, keep func() bool) (lost int, err error) {
	content, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return 0, nil // one that is not worth copying
	}
	if err != nil {
		return 0, err
	}
	// The size is that of now: what a file grew by without a sync reads as zeros.
	for from := 0; from < len(content); from += sectorBytes {
		sector := content[from:min(from+sectorBytes, len(content))]
		old := i.sector(from, len(sector))
		if bytes.Equal(sector, old) || keep() {
			continue
		}
		copy(sector, old)
		lost++
	}
	if lost == 0 {
		return 0, nil
	}
	return lost, os.WriteFile(path, content, 0o600)
}

// sector is what the image has at an offset.
func (i image) sector(from, size int) []byte {
	sector := make([]byte, size)
	if from < len(i) {
		copy(sector, i[from:])
	}
	return sector
}

// eachFile calls f with the path of each regular file below a folder, in their order.
func eachFile(dir string, f func(path string) error) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		return f(path)
	})
}
