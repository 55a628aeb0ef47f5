package swarm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// ErrWorkerDied means that a worker ended in the middle of a job: a panic in
// the code under test, a fault in the simulator, or no memory left.
var ErrWorkerDied = errors.New("the worker process died")

// WorkerArgument is the argument that makes this binary a worker.
const WorkerArgument = "worker"

// process is one worker, seen from outside. It is used by one goroutine, but
// for kill.
type process struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	errors  *tail
	runs    int
	once    sync.Once
}

// startProcess starts a worker.
func startProcess(binary string) (*process, error) {
	command := exec.Command(binary, WorkerArgument)
	command.Env = append(os.Environ(), "GOMAXPROCS=1", "GOTRACEBACK=all")
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p := &process{command: command, in: in, out: bufio.NewReaderSize(out, 1<<20), errors: &tail{}}
	command.Stderr = p.errors
	return p, command.Start()
}

// do has the worker do a job. A job that takes longer than limit is ended, and
// with it the worker.
func (p *process) do(job Job, limit time.Duration) (Answer, error) {
	line, err := json.Marshal(job)
	if err != nil {
		return Answer{}, err
	}
	timedOut := false
	watchdog := time.AfterFunc(limit, func() {
		timedOut = true
		p.kill()
	})
	defer watchdog.Stop()
	p.runs++
	_, err = p.in.Write(append(line, '\n'))
	var answer Answer
	if err == nil {
		if line, err = p.out.ReadBytes('\n'); err == nil {
			err = json.Unmarshal(line, &answer)
		}
	}
	if err == nil {
		return answer, nil
	}
	p.close()
	if timedOut {
		return Answer{}, fmt.Errorf("%w: seed %d took longer than %v", ErrWorkerDied, job.Spec.Seed, limit)
	}
	return Answer{}, fmt.Errorf("%w in seed %d: %s", ErrWorkerDied, job.Spec.Seed, p.errors)
}

// close lets the worker end and waits for it.
func (p *process) close() {
	p.once.Do(func() {
		p.in.Close()
		_ = p.command.Wait()
	})
}

func (p *process) kill() { _ = p.command.Process.Kill() }

// tail keeps the beginning of what a worker writes to standard error: a panic
// says what it is about first.
type tail struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// stderrMost is how much of it is kept.
const stderrMost = 16 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := stderrMost - t.text.Len(); room > 0 {
		t.text.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text.Len() == 0 {
		return "it wrote nothing to standard error"
	}
	return t.text.String()
}
