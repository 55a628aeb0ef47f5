package simrun

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// scratchPrefix begins the names of the temporary folders of this command.
const scratchPrefix = "watchsim-simrun-"

// scratch is a temporary folder. A lock on it, which the system releases when its owner ends, tells
// a folder in use from an abandoned one.
type scratch struct {
	path string
	lock *os.File
}

func newScratch(purpose string) (scratch, error) {
	path, err := os.MkdirTemp("", scratchPrefix+purpose+"-")
	if err != nil {
		return scratch{}, err
	}
	lock, err := lockFolder(path)
	return scratch{path, lock}, err
}

// remove removes the folder. If it fails, the next start does.
func (s scratch) remove() {
	_ = os.RemoveAll(s.path)
	s.lock.Close()
}

// lockFolder locks a folder. It fails if another process holds the lock.
func lockFolder(path string) (*os.File, error) {
	folder, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		folder.Close()
		return nil, err
	}
	return folder, nil
}

// sweepAge is the minimum age of a folder that is swept: by then its owner has locked it.
const sweepAge = time.Minute

// sweep removes temporary folders that killed commands of this user have left.
func sweep() {
	entries, _ := os.ReadDir(os.TempDir())
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || !strings.HasPrefix(entry.Name(), scratchPrefix) || time.Since(info.ModTime()) < sweepAge {
			continue
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Getuid() {
			continue
		}
		path := filepath.Join(os.TempDir(), entry.Name())
		if lock, err := lockFolder(path); err == nil {
			scratch{path, lock}.remove()
		}
	}
}
