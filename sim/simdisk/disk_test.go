package simdisk_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim/simdisk"
)

// sector is 512 bytes of a letter.
func sector(letter string) string { return strings.Repeat(letter, 512) }

func never() func() bool      { return func() bool { return false } }
func everyOther() func() bool { n := 0; return func() bool { n++; return n%2 == 0 } }

// world is a folder with a file that is open for writing, as a log is.
type world struct {
	t    *testing.T
	disk *simdisk.Disk
	dir  string
	file *os.File
}

func newWorld(t *testing.T) *world {
	dir := t.TempDir()
	file, err := os.OpenFile(filepath.Join(dir, "log"), os.O_WRONLY|os.O_CREATE, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	return &world{t: t, disk: &simdisk.Disk{}, dir: dir, file: file}
}

func (w *world) write(at int64, text string) {
	_, err := w.file.WriteAt([]byte(text), at)
	require.NoError(w.t, err)
}

func (w *world) sync() { w.disk.Sync(int(w.file.Fd())) }

// fail is what a copy of the file holds after the power has failed.
func (w *world) fail(keep func() bool) (lost int, content string) {
	copied := w.t.TempDir()
	require.NoError(w.t, os.CopyFS(copied, os.DirFS(w.dir)))
	lost, err := w.disk.Fail(w.dir, copied, keep)
	require.NoError(w.t, err)
	found, err := os.ReadFile(filepath.Join(copied, "log"))
	require.NoError(w.t, err)
	return lost, string(found)
}

func TestWhatWasSyncedSurvives(t *testing.T) {
	w := newWorld(t)
	w.disk.Track(w.dir)
	w.write(0, sector("a")+sector("b"))
	w.sync()
	lost, content := w.fail(never())
	require.Zero(t, lost)
	require.Equal(t, sector("a")+sector("b"), content)
}

func TestWhatWasWrittenSinceIsLost(t *testing.T) {
	w := newWorld(t)
	w.write(0, sector("a")+sector("b"))
	w.disk.Track(w.dir) // as if synced
	w.write(512, sector("c")+sector("d"))
	lost, content := w.fail(never())
	require.Equal(t, 2, lost)
	require.Equal(t, sector("a")+sector("b")+sector("\x00"), content, "the file keeps its size")
}

func TestWhatWasWrittenSinceIsTorn(t *testing.T) {
	w := newWorld(t)
	w.disk.Track(w.dir)
	w.write(0, sector("a")+sector("b")+sector("c")+"d")
	w.sync()
	w.write(512, sector("x")+sector("y")+"z")
	lost, content := w.fail(everyOther())
	require.Equal(t, 2, lost)
	require.Equal(t, sector("a")+sector("b")+sector("y")+"d", content, "the second of three sectors is kept")
}

func TestWhatIsNotTrackedIsSafe(t *testing.T) {
	w := newWorld(t)
	w.disk.Track(w.dir)
	w.disk.Forget()
	w.write(0, sector("a"))
	lost, content := w.fail(never())
	require.Zero(t, lost)
	require.Equal(t, sector("a"), content)
}

func TestAFileIsKnownUnderItsNextName(t *testing.T) {
	w := newWorld(t)
	w.disk.Track(w.dir)
	w.write(0, sector("a"))
	w.sync()
	require.NoError(t, os.Rename(filepath.Join(w.dir, "log"), filepath.Join(w.dir, "renamed")))
	require.NoError(t, os.Symlink("renamed", filepath.Join(w.dir, "log")))
	w.write(0, sector("b"))
	_, content := w.fail(never())
	require.Equal(t, sector("a"), content)
}

func TestAFileThatWasNeverSyncedStays(t *testing.T) {
	w := newWorld(t)
	w.disk.Track(filepath.Join(w.dir, "not there yet"))
	w.write(0, sector("a"))
	lost, content := w.fail(never())
	require.Zero(t, lost)
	require.Equal(t, sector("a"), content)
}

func TestWhileASyncTakesItsTimeNothingIsSafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.disk.Track(w.dir)
		var called time.Duration
		began := time.Now()
		w.disk.OnSync(func() { called = time.Since(began) })
		w.disk.SetDelay(time.Second)
		w.write(0, sector("a"))
		go w.sync()
		time.Sleep(500 * time.Millisecond)
		w.write(512, sector("b"))
		require.Zero(t, called, "before anything gets to the disk")
		lost, _ := w.fail(never())
		require.Equal(t, 2, lost, "half-way")
		time.Sleep(600 * time.Millisecond)
		lost, content := w.fail(never())
		require.Equal(t, 1, lost, "what was written while it synced may come too late")
		require.Equal(t, sector("a")+sector("\x00"), content)
	})
}
