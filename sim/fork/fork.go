package fork

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/sim/internal/kernel"
)

// ErrFork means that the operating system refused to copy this process.
var ErrFork = errors.New("cannot copy this process")

// Copy is a copy of this process, as seen by the original or by the copy itself.
type Copy struct {
	pid    int // 0 in the copy
	answer int // this process's end of the pipe
	output int // what the copy writes to standard output and error
	limits Limits
	began  time.Time
}

// Now copies this process. It returns in the original and in the copy, which [Copy.Inside]
// distinguishes; the copy must end with [Copy.Leave], and the original must call
// [Copy.Wait]. No simulated goroutine may call it: the world has to be paused.
//
// The copy has one thread. Its standard input is empty, its standard output and error go
// to memory, and it does not outlive the original. The other goroutines go on in both: what
// one of them was about to read from a pipe may be read in the copy, and is then lost to the original.
func Now(limits Limits) (*Copy, error) {
	if !kernel.Available() {
		return nil, fmt.Errorf("%w: %s", ErrFork, kernel.Missing)
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFork, err)
	}
	output, err := unix.MemfdCreate("output", unix.MFD_CLOEXEC)
	if err != nil {
		unix.Close(pipe[0])
		unix.Close(pipe[1])
		return nil, fmt.Errorf("%w: %w", ErrFork, err)
	}
	parent := os.Getpid()
	pid, errno := kernel.Runtime().Fork()
	if errno != 0 {
		unix.Close(pipe[0])
		unix.Close(pipe[1])
		unix.Close(output)
		return nil, fmt.Errorf("%w: %w", ErrFork, syscall.Errno(errno))
	}
	if pid != 0 {
		unix.Close(pipe[1])
		return &Copy{pid: pid, answer: pipe[0], output: output, limits: limits, began: time.Now()}, nil
	}
	c := &Copy{answer: pipe[1], limits: limits}
	if err := c.settle(parent, pipe[0], output); err != nil {
		fmt.Fprintln(os.Stderr, "fork:", err)
		unix.Exit(exitUnsettled)
	}
	return c, nil
}

// Exit statuses of a copy, unlikely for any program: its setup failed, or it has called Leave. A
// test may not exit with status 0.
const (
	exitUnsettled = 125
	exitLeft      = 124
)

// settle sets up what the copy does not share with the original.
func (c *Copy) settle(parent, other, output int) error {
	unix.Close(other)
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	if os.Getppid() != parent {
		unix.Exit(exitUnsettled) // the original died before the line above
	}
	empty, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for standard, fd := range map[int]int{0: empty, 1: output, 2: output} {
		if err := unix.Dup3(fd, standard, 0); err != nil {
			return err
		}
	}
	unix.Close(empty)
	unix.Close(output)
	return nil
}

// Inside reports whether this process is the copy.
func (c *Copy) Inside() bool { return c.pid == 0 }

// Leave ends the copy with an answer for the original.
func (c *Copy) Leave(answer []byte) {
	for len(answer) > 0 {
		n, err := unix.Write(c.answer, answer)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "fork: cannot answer:", err)
			unix.Exit(exitUnsettled)
		}
		answer = answer[n:]
	}
	os.Exit(exitLeft) // not of package unix: `go test -cover` has something to do at the exit
}

// Wait waits for the copy to end and reports how. A copy that exceeds its wall-clock limit is
// killed. The answer is written into memory, so that a process with many copies does not accumulate
// garbage, which would be copied, too.
func (c *Copy) Wait(memory []byte) (Ended, error) {
	ended := Ended{Answer: memory[:0], limits: c.limits}
	defer unix.Close(c.answer)
	defer unix.Close(c.output)
	for {
		if c.late() {
			ended.late = true
			_ = unix.Kill(c.pid, unix.SIGKILL)
			break
		}
		had := len(ended.Answer)
		ended.Answer = slices.Grow(ended.Answer, 16<<10)
		n, err := unix.Read(c.answer, ended.Answer[had:cap(ended.Answer)])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return ended, fmt.Errorf("cannot read what a copy of this process answers: %w", err)
		}
		if n == 0 {
			break
		}
		ended.Answer = ended.Answer[:had+n]
	}
	var status unix.WaitStatus
	var usage unix.Rusage
	for {
		_, err := unix.Wait4(c.pid, &status, 0, &usage)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return ended, fmt.Errorf("cannot wait for a copy of this process: %w", err)
		}
		break
	}
	ended.Processor = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	ended.Memory = usage.Maxrss << 10
	ended.exit, ended.signal = status.ExitStatus(), status.Signal()
	if !status.Signaled() {
		ended.signal = 0
	}
	ended.Output = c.written()
	runtime.KeepAlive(c)
	return ended, nil
}

// Answer waits for the copy and returns its answer. If it left none, explain is called in another
// copy, so that this process stays unchanged, and must leave with an answer that says how the first
// one ended. Memory is as for Wait.
func (c *Copy) Answer(memory []byte, explain func(another *Copy, ended Ended)) ([]byte, error) {
	ended, err := c.Wait(memory)
	if err != nil || ended.Well() {
		return ended.Answer, err
	}
	another, err := Now(c.limits)
	if err != nil {
		return nil, err
	}
	if another.Inside() {
		explain(another, ended)
	}
	if ended, err = another.Wait(ended.Answer); err == nil && len(ended.Answer) == 0 {
		err = fmt.Errorf("cannot tell how a run ended: %s", ended.Why())
	}
	return ended.Answer, err
}

// late waits until the copy answers or ends, and reports whether it took too long.
func (c *Copy) late() bool {
	for {
		left := time.Until(c.began.Add(c.limits.Clock))
		if left <= 0 {
			return true
		}
		ready := []unix.PollFd{{Fd: int32(c.answer), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, int(min(left, time.Hour)/time.Millisecond)+1)
		if n > 0 || err != nil && err != unix.EINTR {
			return false
		}
	}
}

// written returns what the copy wrote to standard output and error.
func (c *Copy) written() []byte {
	var info unix.Stat_t
	if err := unix.Fstat(c.output, &info); err != nil || info.Size == 0 {
		return nil
	}
	content := make([]byte, min(info.Size, outputMax))
	n, _ := unix.Pread(c.output, content, 0)
	return content[:max(n, 0)]
}

// outputMax bounds how much of a copy's output is kept, in bytes.
const outputMax = 64 << 20
