package simrun

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/swarm"
)

// relatives returns the workers below a process, and their copies, by their parents. It leaves out
// zombies, and processes that have not become workers yet.
func relatives(of string) (found []string) {
	for _, child := range childrenOf(of) {
		if line, _ := os.ReadFile("/proc/" + child + "/cmdline"); strings.HasSuffix(string(line), "\x00"+swarm.WorkerArgument+"\x00") {
			found = append(append(found, child), relatives(child)...)
		}
	}
	return alive(found)
}

// alive returns the processes that have not ended.
func alive(pids []string) (left []string) {
	for _, pid := range pids {
		content, err := os.ReadFile("/proc/" + pid + "/stat")
		if _, after, _ := strings.Cut(string(content), ") "); err == nil && !strings.HasPrefix(after, "Z") {
			left = append(left, pid)
		}
	}
	return left
}

// A killed simrun takes its workers and their copies with it, and leaves nothing to clean up.
func TestNothingIsLeftOfASimrunThatIsKilled(t *testing.T) {
	c, _, stderr := command(t, "--seeds", "1-100000", "--scenario", "calm", "--workers", "2")
	temporary := t.TempDir()
	c.Env = append(os.Environ(), "TMPDIR="+temporary)
	shared, err := filepath.Glob("/dev/shm/*")
	require.NoError(t, err)
	require.NoError(t, c.Start())
	var running []string
	require.Eventually(t, func() bool {
		running = relatives(strconv.Itoa(c.Process.Pid))
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

// Killed workers are replaced, and no run is lost: the first one is killed while it boots, and each
// of the next when it has done a run.
func TestRunsOfAWorkerThatIsKilledAreDoneByAnother(t *testing.T) {
	c, _, stderr := command(t, "--seeds", "1-12", "--scenario", "calm", "--workers", "1", "--json")
	c.Stdout = nil
	stdout, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	passed := 0
	for kills := range 3 {
		if kills > 0 {
			require.True(t, lines.Scan(), "%v %s", lines.Err(), stderr)
			passed++
		}
		var workers []string
		require.Eventually(t, func() bool {
			workers = relatives(strconv.Itoa(c.Process.Pid)) // a worker comes before its copy
			return len(workers) > 0
		}, time.Minute, time.Millisecond)
		worker, err := strconv.Atoi(workers[0])
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(worker, syscall.SIGKILL))
	}
	for lines.Scan() {
		require.Contains(t, lines.Text(), `"verdict":"passed"`)
		passed++
	}
	require.Equal(t, exitPassed, exitCode(t, c.Wait()), "%s", stderr)
	require.Equal(t, 12, passed)
	says := regexp.MustCompile(`(?m)^simrun: the process of the run was ended from outside: seed \d+: signal: killed; it wrote nothing to standard error; it is run again$`)
	require.Len(t, says.FindAllString(stderr.String(), -1), 3, "%s", stderr)
}
