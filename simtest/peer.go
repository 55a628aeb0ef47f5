package simtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// peer is a worker process.
type peer struct {
	command *exec.Cmd
	jobs    io.WriteCloser
	reports *bufio.Reader
	pipe    *os.File
	said    strings.Builder
}

// start starts a worker.
func (h *hunt) start() (*peer, error) {
	reports, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	p := &peer{reports: bufio.NewReader(reports), pipe: reports}
	p.command = exec.Command(h.program, "-test.run="+exactly(h.t.Name()), "-test.count=1", "-test.timeout=0")
	p.command.Env = append(os.Environ(), workerVariable+"="+h.t.Name(), "GOMAXPROCS=1")
	p.command.Stdout, p.command.Stderr = &p.said, &p.said
	p.command.ExtraFiles = []*os.File{theirs}
	if p.jobs, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	return p, p.command.Start()
}

// do has the worker run a job.
func (p *peer) do(next job) (r report, err error) {
	line, err := json.Marshal(next)
	if err == nil {
		_, err = p.jobs.Write(append(line, '\n'))
	}
	var answer []byte
	if err == nil {
		answer, err = p.reports.ReadBytes('\n')
	}
	if err != nil {
		_ = p.command.Wait()
		return r, fmt.Errorf("a process that simulates has ended: %w\n%s", err, p.said.String())
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return r, err
	}
	if r.Broken != "" {
		return r, errors.New(r.Broken)
	}
	return r, nil
}

// stop ends the worker.
func (p *peer) stop() {
	p.jobs.Close()
	_ = p.command.Wait()
	p.pipe.Close()
}

// exactly is the pattern of -test.run that matches only one test.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}
