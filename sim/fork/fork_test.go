package fork_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/fork"
	"github.com/watchsim/watchsim/sim/simdisk"
)

// limits are small, so that they are soon reached.
var limits = fork.Limits{Processor: time.Second, Clock: 20 * time.Second, Memory: 256 << 20}

// copied makes a copy of this process do something, after which it must leave or die.
func copied(t *testing.T, limits fork.Limits, do func(*fork.Copy)) fork.Ended {
	t.Helper()
	require.NoError(t, sim.Available())
	made, err := fork.Now(limits)
	require.NoError(t, err)
	if made.Inside() {
		do(made)
		unix.Exit(99) // it did not
	}
	ended, err := made.Wait(nil)
	require.NoError(t, err)
	return ended
}

// children returns the processes that this one has not waited for.
func children(t *testing.T) string {
	all, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	var found strings.Builder
	for _, path := range all {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		found.Write(content)
	}
	return found.String()
}

// simulating makes the copy run f as a simulation and leave with why it ended.
func simulating(f func(*sim.World)) func(*fork.Copy) {
	return func(made *fork.Copy) {
		result, err := sim.Run(sim.Config{Source: sim.FromSeed(1), Schedule: sim.DefaultSchedule}, func(w *sim.World) {
			w.Pause(func() { must(made.Limit()) }) // what it reserves, it has reserved
			f(w)
		})
		must(err)
		made.Leave([]byte(result.Stop))
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func TestACopyThatDiesHarmsNobody(t *testing.T) {
	memory := [][]byte{}
	for _, row := range []struct {
		name   string
		do     func(*fork.Copy)
		limits fork.Limits
		why    string // how it ended
		says   string // what it wrote
	}{
		{"panics", func(*fork.Copy) { panic("what a pity") }, limits,
			"it panicked, with exit status 2", "panic: what a pity"},
		{"panics while simulating", simulating(func(*sim.World) { go panic("what a pity"); select {} }), limits,
			"it panicked, with exit status 2", "panic: what a pity"},
		{"maps are torn", simulating(func(*sim.World) { noMap[1] = 2 }), limits,
			"it panicked, with exit status 2", "assignment to entry in nil map"},
		{"exits", func(*fork.Copy) { os.Exit(7) }, limits,
			"it ended its process with exit status 7", ""},
		{"exits while simulating", simulating(func(*sim.World) { fmt.Println("goodbye"); os.Exit(7) }), limits,
			"it ended its process with exit status 7", "goodbye"},
		{"is killed", func(*fork.Copy) { must(unix.Kill(unix.Getpid(), unix.SIGKILL)); select {} }, limits,
			"it was killed with SIGKILL, by somebody or by a system without memory", ""},
		{"is killed while simulating", simulating(func(*sim.World) { must(unix.Kill(unix.Getpid(), unix.SIGKILL)); select {} }), limits,
			"it was killed with SIGKILL, by somebody or by a system without memory", ""},
		{"is ended by another signal", func(*fork.Copy) { must(unix.Kill(unix.Getpid(), unix.SIGTERM)); select {} }, limits,
			"it was killed by a signal (terminated)", ""},
		{"runs out of memory", simulating(func(*sim.World) {
			for {
				memory = append(memory, make([]byte, 1<<20))
			}
		}), limits,
			"it needed more than 256 MiB of memory beside what it began with", "out of memory"},
		{"computes for ever", simulating(func(*sim.World) {
			for i := 0; ; i++ {
				memory = memory[:0]
			}
		}), limits,
			"it took longer than 1s of processor time", ""},
		{"waits for ever", func(*fork.Copy) { select {} }, fork.Limits{Processor: time.Second, Clock: 200 * time.Millisecond, Memory: 1 << 30},
			"it took longer than 200ms on the clock, 0s of it on a processor: the machine is busy with something else, or the run waits for something outside of it", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			ended := copied(t, row.limits, row.do)
			require.False(t, ended.Well())
			why := ended.Why()
			if _, after, busy := strings.Cut(why, " on the clock, "); busy {
				_, after, _ = strings.Cut(after, " of it")
				why = strings.Split(why, " on the clock, ")[0] + " on the clock, 0s of it" + after
			}
			require.Equal(t, row.why, why, "%v: %s", ended.Processor, ended.Output)
			require.Contains(t, string(ended.Output), row.says)
			require.Empty(t, children(t), "it was waited for")

			// Neither this process nor its next copy knows of it.
			next := copied(t, limits, simulating(func(*sim.World) { time.Sleep(time.Second) }))
			require.True(t, next.Well(), "%s: %s", next.Why(), next.Output)
			require.Equal(t, string(sim.Completed), string(next.Answer))
			require.Empty(t, memory)
		})
	}
}

func TestACopyThatDeadlocksSaysSo(t *testing.T) {
	ended := copied(t, limits, simulating(func(*sim.World) { select {} }))
	require.True(t, ended.Well(), "%s: %s", ended.Why(), ended.Output)
	require.Equal(t, string(sim.Deadlock), string(ended.Answer))
}

func TestACopyThatFillsItsDiskSaysSo(t *testing.T) {
	ended := copied(t, fork.DefaultLimits, func(made *fork.Copy) {
		var full error
		result, err := sim.Run(sim.Config{Source: sim.FromSeed(1)}, func(*sim.World) {
			for i := 0; full == nil; i++ {
				path := filepath.Join(simdisk.Root, strconv.Itoa(i))
				if full = os.WriteFile(path, nil, 0o600); full == nil {
					full = os.Truncate(path, simdisk.FileMax)
				}
			}
		})
		must(err)
		made.Leave(fmt.Append(nil, result.DiskFull, " ", full))
	})
	require.True(t, ended.Well(), "%s: %s", ended.Why(), ended.Output)
	require.Equal(t, fmt.Sprintf("true truncate /simulated/%d: no space left on device", simdisk.Capacity/simdisk.FileMax), string(ended.Answer))
	ended = copied(t, fork.DefaultLimits, func(made *fork.Copy) {
		result, err := sim.Run(sim.Config{Source: sim.FromSeed(1)}, func(*sim.World) {})
		must(err)
		made.Leave(fmt.Append(nil, result.DiskFull))
	})
	require.Equal(t, "false", string(ended.Answer), "the next has a disk of its own")
}

// TestAnAnswerIsWhole sends more than a pipe holds.
func TestAnAnswerIsWhole(t *testing.T) {
	want := strings.Repeat("0123456789", 1<<20)
	ended := copied(t, limits, func(made *fork.Copy) { made.Leave([]byte(want)) })
	require.True(t, ended.Well(), ended.Why())
	require.Equal(t, want, string(ended.Answer))
	require.Positive(t, ended.Memory)
}

// TestACopyDiesWithItsOriginal kills a copy that has a copy itself.
func TestACopyDiesWithItsOriginal(t *testing.T) {
	var pid [20]byte
	var pipe [2]int // not of package os: what the original's poller knows, the copy's does not
	require.NoError(t, unix.Pipe(pipe[:]))
	ended := copied(t, limits, func(*fork.Copy) {
		inner, err := fork.Now(limits)
		must(err)
		if inner.Inside() {
			_, err := unix.Write(pipe[1], fmt.Append(nil, unix.Getpid()))
			must(err)
			select {}
		}
		n, err := unix.Read(pipe[0], pid[:])
		must(err)
		fmt.Print(string(pid[:n]))
		must(unix.Kill(unix.Getpid(), unix.SIGKILL))
		select {}
	})
	require.False(t, ended.Well())
	number, err := strconv.Atoi(string(ended.Output))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", number))
		return err != nil || strings.Contains(string(status), ") Z ") // whoever has inherited it waits for it some time
	}, time.Minute, time.Millisecond)
}

// TestAGoroutineLockedToAThreadGoesOnInACopy has a goroutine wait on a thread that the copy lacks.
// Package os/signal has such a goroutine.
func TestAGoroutineLockedToAThreadGoesOnInACopy(t *testing.T) {
	questions, answers := make(chan int), make(chan int)
	go func() {
		runtime.LockOSThread()
		for question := range questions {
			answers <- question + 1
		}
	}()
	questions <- 1
	require.Equal(t, 2, <-answers)
	ended := copied(t, limits, func(made *fork.Copy) {
		questions <- 2
		made.Leave([]byte(strconv.Itoa(<-answers)))
	})
	require.Equal(t, "3", string(ended.Answer), ended.Why())
	questions <- 3
	require.Equal(t, 4, <-answers, "in the original, too")
	close(questions)
}

// noMap is a map that nobody has made.
var noMap map[int]int
