package simtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/watchsim/watchsim/sim/fork"
	"github.com/watchsim/watchsim/sim/isolate"
)

// peer is a worker process. Under the race detector each job gets a process of its own.
type peer struct {
	program, test string
	command       *exec.Cmd // nil if there is none
	ended         *os.ProcessState
	jobs          io.WriteCloser
	reports       *bufio.Reader
	pipe          *os.File
	said          strings.Builder
}

// start starts the worker.
func (p *peer) start() error {
	reports, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close()
	p.reports, p.pipe = bufio.NewReader(reports), reports
	p.said.Reset()
	p.command = exec.Command(p.program, "-test.run="+isolate.Exactly(p.test), "-test.count=1", "-test.timeout=0")
	p.command.Env = append(os.Environ(), workerVariable+"="+p.test, "GOMAXPROCS=1")
	p.command.Stdout, p.command.Stderr = &p.said, &p.said
	p.command.ExtraFiles = []*os.File{theirs}
	if p.jobs, err = p.command.StdinPipe(); err != nil {
		return err
	}
	return p.command.Start()
}

// do has the worker run a job. A run that is killed from outside, as by the kernel when memory runs out, says nothing about its
// seed, which is tried once more. So is a run that exceeds its limit of real time, as the machine may be the reason.
func (p *peer) do(next job) (report, error) {
	return verdict(next.Seed, func() (report, error) { return p.try(next) })
}

func verdict(seed uint64, try func() (report, error)) (report, error) {
	r, err := try()
	tries := ""
	if err == nil && r.Cause.Outside() {
		r, err = try()
		tries = ", twice"
	}
	if err == nil && (r.Cause.Outside() || r.Cause == fork.TookTooLong) {
		err = fmt.Errorf("seed %d has no verdict%s: %s", seed, tries, r.Stop)
	}
	return r, err
}

// try has the worker run a job once.
func (p *peer) try(next job) (r report, err error) {
	if p.command == nil {
		if err := p.start(); err != nil {
			return r, err
		}
	}
	line, err := json.Marshal(next)
	if err == nil {
		_, err = p.jobs.Write(append(line, '\n'))
	}
	var answer []byte
	if err == nil {
		answer, err = p.reports.ReadBytes('\n')
	}
	if err != nil || isolate.Raced {
		p.stop()
	}
	switch {
	case err != nil && isolate.Raced:
		return endedAs(fork.EndedAlone(p.ended, []byte(p.said.String())), next), nil
	case err != nil:
		return r, fmt.Errorf("a process that simulates has ended: %s\n%s", howEnded(p.ended), p.said.String())
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return r, err
	}
	if r.Broken != "" {
		return r, errors.New(r.Broken)
	}
	for _, one := range dataRaces(p.said.String()) {
		r.Log = append(r.Log, dataRace+one)
	}
	return r, nil
}

// stop ends the worker.
func (p *peer) stop() {
	if p.command == nil {
		return
	}
	p.jobs.Close()
	_ = p.command.Wait()
	p.pipe.Close()
	p.ended, p.command = p.command.ProcessState, nil
}

// howEnded says how a worker ended that should still be running.
func howEnded(state *os.ProcessState) string {
	if status, is := state.Sys().(syscall.WaitStatus); is && status.Signaled() && status.Signal() == syscall.SIGKILL {
		return "something has killed it, as the kernel does when memory runs out; fewer -simtest.workers, or a smaller -simtest.verify, need less"
	}
	return state.String()
}
