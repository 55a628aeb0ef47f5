package swarm

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/scenario"
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
	dir     string // where it works, and all that it leaves behind if it dies
	in      io.WriteCloser
	out     *bufio.Reader
	errors  *complaint
	runs    int
	once    sync.Once
	// interrupted is whether nobody wants to know any more what becomes of it.
	interrupted atomic.Bool
}

// startProcess starts a worker, with some variables, such as "NAME=value", more in
// its environment.
func startProcess(binary string, environment ...string) (*process, error) {
	dir, err := os.MkdirTemp(scratchDir(), fmt.Sprintf("watchsim-%d-", os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("cannot make a folder for a worker: %w", err)
	}
	command := exec.Command(binary, WorkerArgument, dir)
	command.Env = slices.Concat(os.Environ(), environment, []string{"GOMAXPROCS=1", "GOTRACEBACK=all", endAtRace()})
	p := &process{command: command, dir: dir, errors: &complaint{}}
	command.Stderr = p.errors
	p.in, err = command.StdinPipe()
	var out io.Reader
	if err == nil {
		out, err = command.StdoutPipe()
	}
	if err == nil {
		p.out = bufio.NewReaderSize(out, 1<<20)
		err = command.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start a worker: %w", err), os.RemoveAll(dir))
	}
	return p, nil
}

// endAtRace is the variable that ends a worker at the first data race, if it was
// built to look for them: what a worker says is only read when it dies.
func endAtRace() string {
	return "GORACE=" + strings.TrimSpace(os.Getenv("GORACE")+" halt_on_error=1")
}

// do has the worker do a job. A job that takes longer than limit is ended, and
// with it the worker; see watch.
func (p *process) do(job Job, limit time.Duration) (Answer, error) {
	job.Protocol = protocol
	line, err := json.Marshal(job)
	if err != nil {
		return Answer{}, err
	}
	watchdog := watch(limit, func() (time.Duration, error) { return processorTime(p.command.Process.Pid) }, p.kill)
	p.runs++
	_, err = p.in.Write(append(line, '\n'))
	var answer Answer
	if err == nil {
		if line, err = p.out.ReadBytes('\n'); err == nil {
			err = json.Unmarshal(line, &answer)
		}
	}
	tooLong := watchdog.stop()
	if err == nil {
		return answer, nil
	}
	defer p.close()
	p.wait() // all that it says before it dies is read then
	died := fmt.Errorf("%w in seed %d: %s", ErrWorkerDied, job.Spec.Seed, p.errors)
	if tooLong != "" {
		died = fmt.Errorf("%w: seed %d took longer than %s", ErrWorkerDied, job.Spec.Seed, tooLong)
	}
	if job.Folder != "" && !p.interrupted.Load() {
		if err := p.salvage(job, died); err != nil {
			died = fmt.Errorf("%w\nwhat is known of the run could not be written: %w", died, err)
		}
	}
	return Answer{}, died
}

// salvage writes what is known of a run in whose middle the worker died: what it is a
// function of, and the decisions so far.
func (p *process) salvage(job Job, died error) error {
	tape, err := os.ReadFile(filepath.Join(p.dir, tapeSoFar))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the run had not begun
	}
	if err != nil {
		return err
	}
	return scenario.WriteUnfinished(job.Folder, job.Spec, scenario.CurrentBuild(), sim.Trimmed(tape), died.Error()+"\n")
}

// close lets the worker end, waits for it, and clears up after it: one that
// was killed could not.
func (p *process) close() {
	p.wait()
	_ = os.RemoveAll(p.dir)
}

// wait lets the worker end and waits for it.
func (p *process) wait() {
	p.once.Do(func() {
		p.in.Close()
		_ = p.command.Wait()
	})
}

func (p *process) kill() { _ = p.command.Process.Kill() }

// interrupt ends a worker whose run nobody waits for any more.
func (p *process) interrupt() {
	p.interrupted.Store(true)
	p.kill()
}

// scratchDir is where workers keep their members' data: in memory where the
// system has a place for that.
func scratchDir() string {
	const inMemory = "/dev/shm"
	if info, err := os.Stat(inMemory); err == nil && info.IsDir() {
		if probe, err := os.CreateTemp(inMemory, "watchsim-probe-"); err == nil {
			probe.Close()
			os.Remove(filepath.Join(inMemory, filepath.Base(probe.Name())))
			return inMemory
		}
	}
	return os.TempDir()
}
