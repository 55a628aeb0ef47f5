package simdisk_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/sim/isolate"
	"github.com/watchsim/watchsim/sim/simdisk"
)

func TestALimitOfTheFilesIsAnErrorOfTheirs(t *testing.T) {
	for _, row := range []struct {
		name string
		want syscall.Errno
		fill func(dir string) error
	}{
		{"one file is too large", unix.EFBIG, func(dir string) error {
			file, err := os.Create(filepath.Join(dir, "large"))
			if err != nil {
				return err
			}
			if _, err := file.WriteAt([]byte("x"), simdisk.FileMax-1); err != nil {
				return err
			}
			_, err = file.WriteAt([]byte("x"), simdisk.FileMax)
			return err
		}},
		{"all files are too large", unix.ENOSPC, func(dir string) error {
			for i := range simdisk.Capacity/simdisk.FileMax + 1 {
				path := filepath.Join(dir, fmt.Sprint(i))
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					return err
				}
				if err := os.Truncate(path, simdisk.FileMax); err != nil {
					return err
				}
			}
			return nil
		}},
		{"too many files", unix.ENOSPC, func(dir string) error {
			for i := range simdisk.FilesMax + 1 {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("file", i)), nil, 0o600); err != nil {
					return err
				}
			}
			return nil
		}},
		{"too many are open", unix.EMFILE, func(dir string) error {
			for range simdisk.OpenMax + 1 {
				if _, err := os.OpenFile(filepath.Join(dir, "one"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			isolate.Isolated(t, func(t testing.TB) { // what is full stays so
				dir := newFolder(t)
				require.False(t, simdisk.Full())
				require.ErrorIs(t, row.fill(dir), row.want)
				require.True(t, simdisk.Full())
			})
		})
	}
}

// TestWhatWasRemovedMakesRoom fills the disk several times over.
func TestWhatWasRemovedMakesRoom(t *testing.T) {
	isolate.Isolated(t, func(t testing.TB) {
		dir := newFolder(t)
		for round := range 3 * simdisk.FilesMax / 100 {
			inner := filepath.Join(dir, "inner")
			require.NoError(t, os.Mkdir(inner, 0o700))
			for i := range 100 {
				path := filepath.Join(inner, fmt.Sprint(i))
				require.NoError(t, os.WriteFile(path, []byte{byte(round)}, 0o600))
				require.NoError(t, os.Truncate(path, 16<<10))
			}
			require.NoError(t, os.RemoveAll(inner))
		}
		path := filepath.Join(dir, "last")
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.NoError(t, os.Truncate(path, 8))
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, make([]byte, 8), content, "nothing is left of what was there before")
	})
}

func TestAMapThatOthersDoNotSeeIsRefused(t *testing.T) {
	file, err := os.Create(filepath.Join(newFolder(t), "file"))
	require.NoError(t, err)
	defer file.Close()
	_, err = unix.Mmap(int(file.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	require.ErrorIs(t, err, unix.ENODEV)
}

func TestAMapMayBeLargerThanAnyFile(t *testing.T) {
	path := filepath.Join(newFolder(t), "file")
	require.NoError(t, os.WriteFile(path, []byte("content"), 0o600))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	mapped, err := unix.Mmap(int(file.Fd()), 0, 40*simdisk.FileMax, unix.PROT_READ, unix.MAP_SHARED)
	require.NoError(t, err)
	require.Equal(t, "content", string(mapped[:7]))
	require.NoError(t, unix.Munmap(mapped))
}

// TestACopyHasFilesOfItsOwn has a copy of the process go on with an open file.
func TestACopyHasFilesOfItsOwn(t *testing.T) {
	dir := newFolder(t)
	path := filepath.Join(dir, "file")
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	_, err = file.WriteString("before ")
	require.NoError(t, err)
	mapped, err := unix.Mmap(int(file.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
	require.NoError(t, err)

	type found struct{ Content, Mapped string }
	look := func(t testing.TB) found {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		return found{string(content), string(mapped[:len(content)])}
	}
	inside := isolate.Answer(t, func(t testing.TB) found {
		_, err := file.WriteString("inside")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "another"), nil, 0o600))
		return look(t)
	})
	require.Equal(t, found{"before inside", "before inside"}, inside)
	_, err = file.WriteString("outside")
	require.NoError(t, err)
	require.Equal(t, found{"before outside", "before outside"}, look(t))
	require.NoFileExists(t, filepath.Join(dir, "another"))
	require.NoError(t, unix.Munmap(mapped))
}
