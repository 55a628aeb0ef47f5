package swarm

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/fork"
)

// ErrDied means that a run ended its process: a panic in the code under test, a fault in
// the simulator, or a limit.
var ErrDied = errors.New("the run ended its process")

// ErrOutside means that something other than the run ended its process: a SIGKILL by somebody or by
// the kernel when memory ran out, or memory that the machine did not have. It says nothing about
// the run.
var ErrOutside = errors.New("the process of the run was ended from outside")

// errLate is ErrDied for a run that took too much real time, possibly because the machine is busy.
var errLate = fmt.Errorf("%w for its time on the clock", ErrDied)

// WorkerArgument is the argument that makes this binary a worker.
const WorkerArgument = "worker"

// process is one worker, from the coordinator's side. One goroutine uses it; only kill may be
// called from others.
type process struct {
	command *exec.Cmd
	kind    kind
	in      io.WriteCloser
	out     *bufio.Reader
	errors  *complaint
	tape    *os.File // shared memory for a run's tape, which outlives the worker
	once    sync.Once
	ended   bool // it has been waited for
}

// errWorker means that a worker ended and its run is not at fault, so another worker can
// run it.
var errWorker = errors.New("the worker of this run ended before it")

// starts starts workers on one thread, which lives as long as this process: the kernel
// kills a worker when the thread that started it ends.
var starts = sync.OnceValue(func() chan<- func() {
	requests := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range requests {
			start()
		}
	}()
	return requests
})

// startProcess starts a worker.
func startProcess(binary string, kind kind) (*process, error) {
	command := exec.Command(binary, WorkerArgument)
	command.Env = append(os.Environ(), "GOMAXPROCS=1", "GOTRACEBACK=all", endAtRace())
	if kind.environment != "" {
		command.Env = append(command.Env, kind.environment)
	}
	// An interrupt is only for this process, which ends the workers.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	tape, err := newTape()
	if err != nil {
		return nil, fmt.Errorf("cannot start a worker: %w", err)
	}
	command.ExtraFiles = []*os.File{tape}
	p := &process{command: command, kind: kind, errors: &complaint{}, tape: tape}
	command.Stderr = p.errors
	p.in, err = command.StdinPipe()
	var out io.Reader
	if err == nil {
		out, err = command.StdoutPipe()
	}
	if err == nil {
		p.out = bufio.NewReaderSize(out, 1<<20)
		started := make(chan struct{})
		starts() <- func() {
			err = command.Start()
			close(started)
		}
		<-started
	}
	if err != nil {
		tape.Close()
		return nil, fmt.Errorf("cannot start a worker: %w", err)
	}
	return p, nil
}

// endAtRace is the environment variable that ends a worker at the first data race, if it was built
// with the race detector: a worker's output is only read when it dies.
func endAtRace() string {
	return "GORACE=" + strings.TrimSpace(os.Getenv("GORACE")+" halt_on_error=1")
}

// workerGrace is how much longer than a run a worker may take for a job.
const workerGrace = time.Minute

// do runs a job in the worker. The error is ErrDied if the run ended its process, which the
// worker survives unless the job was in place, ErrOutside if the process was killed from
// outside, and errWorker if the worker ended for another reason.
func (p *process) do(job Job) (Answer, error) {
	job.Protocol, job.TapeFile = protocol, tapeFile
	var late atomic.Bool
	timer := time.AfterFunc(job.Limits.Clock+workerGrace, func() {
		late.Store(true)
		p.kill()
	})
	defer timer.Stop()
	var r Reply
	if p.ask(job, &r) == nil {
		return r.Read(job.Spec.Seed)
	}
	p.wait() // now all of its output has been read
	cause := errWorker
	if job.InPlace {
		cause = ErrDied
	}
	if late.Load() {
		return Answer{}, died(cause, job.Spec.Seed, fork.TookTooLong, fmt.Sprintf("it took longer than %v on the clock", job.Limits.Clock+workerGrace))
	}
	said := p.errors.String()
	status, _ := p.command.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() && status.Signal() == syscall.SIGKILL || strings.Contains(said, "cannot allocate memory") {
		cause = ErrOutside
	}
	return Answer{}, died(cause, job.Spec.Seed, fork.Exited, fmt.Sprintf("%v; %s", p.command.ProcessState, said))
}

// ask sends the worker a question and reads its answer, a line of JSON each.
func (p *process) ask(question, answer any) error {
	if err := json.NewEncoder(p.in).Encode(question); err != nil {
		return err
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, answer)
}

// wait lets the worker end and waits for it.
func (p *process) wait() {
	p.once.Do(func() {
		p.in.Close()
		_ = p.command.Wait()
		p.ended = true
	})
}

// close lets the worker end and frees its tape.
func (p *process) close() {
	p.wait()
	p.tape.Close()
}

// decisions returns the decisions on the tape of a run whose worker has ended.
func (p *process) decisions() []byte {
	content, _ := io.ReadAll(io.NewSectionReader(p.tape, 0, tapeMax))
	return sim.Trimmed(content)
}

// kill kills the worker, and with it the copy that it waits for.
func (p *process) kill() { _ = p.command.Process.Kill() }
