package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// relatives are the processes below one: its workers, and their copies, by what each is a
// child of. Those that have ended and only wait to be asked for are left out.
func relatives(t *testing.T, of int) (found []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	children := map[int][]int{}
	for _, path := range stats {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		_, after, _ := strings.Cut(string(content), ") ")
		fields := strings.Fields(after)
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		require.NoError(t, err)
		parent, err := strconv.Atoi(fields[1])
		require.NoError(t, err)
		if fields[0] != "Z" {
			children[parent] = append(children[parent], pid)
		}
	}
	for generation := []int{of}; len(generation) > 0; {
		var next []int
		for _, pid := range generation {
			next = append(next, children[pid]...)
		}
		found = append(found, next...)
		generation = next
	}
	return found
}

// alive is which of some processes have not ended.
func alive(pids []int) (left []int) {
	for _, pid := range pids {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if _, after, _ := strings.Cut(string(content), ") "); err == nil && !strings.HasPrefix(after, "Z") {
			left = append(left, pid)
		}
	}
	return left
}

// A simrun that is killed takes its workers and their copies with it, and leaves nothing
// that somebody would have to clean up.
func TestNothingIsLeftOfASimrunThatIsKilled(t *testing.T) {
	c, _, stderr := command(t, "--seeds", "1-100000", "--scenario", "calm", "--workers", "2")
	temporary := t.TempDir()
	c.Env = append(os.Environ(), "TMPDIR="+temporary)
	shared, err := filepath.Glob("/dev/shm/*")
	require.NoError(t, err)
	require.NoError(t, c.Start())
	var running []int
	require.Eventually(t, func() bool {
		running = relatives(t, c.Process.Pid)
		return len(running) == 4
	}, time.Minute, time.Millisecond, "two workers and a copy of each: %v %s", running, stderr)

	require.NoError(t, c.Process.Kill())
	require.Error(t, c.Wait())
	require.Eventually(t, func() bool { return len(alive(running)) == 0 }, 10*time.Second, time.Millisecond, "%v", running)
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)
	now, err := filepath.Glob("/dev/shm/*")
	require.NoError(t, err)
	require.Subset(t, shared, now)
}

// Workers that are killed are replaced, and no run is lost.
func TestRunsOfAWorkerThatIsKilledAreDoneByAnother(t *testing.T) {
	c, stdout, stderr := command(t, "--seeds", "1-40", "--scenario", "calm", "--workers", "1")
	require.NoError(t, c.Start())
	killed := map[int]bool{}
	for len(killed) < 3 { // while it boots, and later
		for _, pid := range relatives(t, c.Process.Pid) {
			if status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); strings.Contains(string(status), fmt.Sprintf(") S %d ", c.Process.Pid)) && !killed[pid] {
				killed[pid] = syscall.Kill(pid, syscall.SIGKILL) == nil
				time.Sleep(3 * time.Second)
			}
		}
	}
	require.Equal(t, exitPassed, exitCode(t, c.Wait()), "%s%s", stdout, stderr)
	require.Contains(t, stdout.String(), "40 of 40 seeds: 40 passed")
	require.Contains(t, stderr.String(), "simrun: the worker of this run ended before it: seed ")
	require.Contains(t, stderr.String(), "signal: killed; it wrote nothing to standard error; another worker does it")
}
