package simdisk_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/simdisk"
)

// sector is 512 bytes of a letter.
func sector(letter string) string { return strings.Repeat(letter, 512) }

func never() func() bool      { return func() bool { return false } }
func everyOther() func() bool { n := 0; return func() bool { n++; return n%2 == 0 } }

// world is a folder in memory with a file that is open for writing, as a log is.
type world struct {
	t    *testing.T
	disk *simdisk.Disk
	dir  string
	file *os.File
}

func newWorld(t *testing.T) *world {
	dir := newFolder(t)
	file, err := os.OpenFile(filepath.Join(dir, "log"), os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	return &world{t: t, disk: &simdisk.Disk{}, dir: dir, file: file}
}

// newFolder is a folder in memory that nothing else uses.
func newFolder(t testing.TB) string {
	require.NoError(t, sim.Available())
	require.NoError(t, simdisk.Mount())
	dir := filepath.Join(simdisk.Root, t.Name())
	require.NoError(t, os.MkdirAll(dir, 0o700))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func (w *world) write(at int64, text string) {
	_, err := w.file.WriteAt([]byte(text), at)
	require.NoError(w.t, err)
}

func (w *world) sync() { w.disk.Sync(int(w.file.Fd())) }

// fail is what the file holds after the power has failed.
func (w *world) fail(keep func() bool) (lost int, content string) {
	lost = w.disk.Fail(w.dir, keep)
	found, err := os.ReadFile(filepath.Join(w.dir, "log"))
	require.NoError(w.t, err)
	return lost, string(found)
}

func TestWhatIsLeftWhenThePowerFails(t *testing.T) {
	ab, abc := sector("a")+sector("b"), sector("a")+sector("b")+sector("c")+"d"
	for name, row := range map[string]struct {
		do      func(w *world)
		keep    func() bool
		lost    int
		content string
	}{
		"what was synced": {func(w *world) { w.disk.Track(w.dir); w.write(0, ab); w.sync() }, never(), 0, ab},
		// What is tracked counts as synced, and the file keeps its size.
		"not what was written since": {func(w *world) { w.write(0, ab); w.disk.Track(w.dir); w.write(512, sector("c")+sector("d")) },
			never(), 2, ab + sector("\x00")},
		"the second of three sectors": {func(w *world) {
			w.disk.Track(w.dir)
			w.write(0, abc)
			w.sync()
			w.write(512, sector("x")+sector("y")+"z")
		},
			everyOther(), 2, sector("a") + sector("b") + sector("y") + "d"},
		"what is tracked no more":      {func(w *world) { w.disk.Track(w.dir); w.disk.Forget(); w.write(0, ab) }, never(), 0, ab},
		"a file that was never synced": {func(w *world) { w.disk.Track(filepath.Join(w.dir, "not there yet")); w.write(0, ab) }, never(), 0, ab},
		"another file of the same name": {func(w *world) {
			w.disk.Track(w.dir)
			w.write(0, sector("a"))
			w.sync()
			require.NoError(w.t, os.Remove(filepath.Join(w.dir, "log")))
			require.NoError(w.t, os.WriteFile(filepath.Join(w.dir, "log"), []byte(sector("b")), 0o600))
		}, never(), 0, sector("b")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			row.do(w)
			lost, content := w.fail(row.keep)
			require.Equal(t, row.lost, lost)
			require.Equal(t, row.content, content)
		})
	}
}

func TestAFileIsKnownUnderItsNextName(t *testing.T) {
	w := newWorld(t)
	w.disk.Track(w.dir)
	w.write(0, sector("a"))
	w.sync()
	log, renamed := filepath.Join(w.dir, "log"), filepath.Join(w.dir, "renamed")
	require.NoError(t, os.Rename(log, renamed))
	w.write(0, sector("b"))
	require.Equal(t, 1, w.disk.Fail(w.dir, never()))
	content, err := os.ReadFile(renamed)
	require.NoError(t, err)
	require.Equal(t, sector("a"), string(content))
}

func TestAMemoryMapSeesWhatIsLost(t *testing.T) {
	w := newWorld(t)
	w.disk.Track(w.dir)
	w.write(0, sector("a"))
	w.sync()
	mapped, err := unix.Mmap(int(w.file.Fd()), 0, 512, unix.PROT_READ, unix.MAP_SHARED)
	require.NoError(t, err)
	w.write(0, sector("b"))
	require.Equal(t, sector("b"), string(mapped))
	w.fail(never())
	require.Equal(t, sector("a"), string(mapped))
	require.NoError(t, unix.Munmap(mapped))
}

func TestWhileASyncTakesItsTimeNothingIsSafe(t *testing.T) {
	for _, row := range []struct {
		name    string
		after   time.Duration
		lost    int
		content string
	}{
		{"half-way", 500 * time.Millisecond, 2, sector("\x00") + sector("\x00")},
		// What was written while it synced may come too late.
		{"at its end", 1100 * time.Millisecond, 1, sector("a") + sector("\x00")},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.disk.Track(w.dir)
				called := time.Duration(-1)
				began := time.Now()
				w.disk.OnSync(func() { called = time.Since(began) })
				w.disk.SetDelay(time.Second)
				w.write(0, sector("a"))
				go w.sync()
				time.Sleep(400 * time.Millisecond)
				w.write(512, sector("b"))
				require.Zero(t, called, "before anything gets to the disk")
				time.Sleep(time.Until(began.Add(row.after)))
				lost, content := w.fail(never())
				require.Equal(t, row.lost, lost)
				require.Equal(t, row.content, content)
				time.Sleep(time.Until(began.Add(2 * time.Second)))
			})
		})
	}
}
