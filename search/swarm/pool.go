package swarm

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/watchsim/watchsim/cluster/scenario"
)

// Pool runs jobs in worker processes of one binary, at most limits.Workers at a time.
// Its methods may be called from several goroutines.
//
// A job needs a worker of its kind: one that has booted its template, in its environment. A
// worker runs any number of such jobs, one after the other. The pool starts a worker when
// none of that kind is idle, and keeps at most idlePerSlot idle ones for each slot; the one
// that has been idle for longest ends first.
type Pool struct {
	binary string
	limits Limits
	slots  chan struct{}

	mu   sync.Mutex // guards what follows
	idle []*process // the one that has been idle for longest first
}

// idlePerSlot is how many workers may be idle for each slot: as many as there are templates
// in most ranges of the scenario any.
const idlePerSlot = 8

// kind identifies the workers that can run a job.
type kind struct {
	template    scenario.Template
	environment string
}

func (j Job) kind() kind { return kind{j.Spec.Template(), j.Environment} }

// NewPool makes a pool. Workers start with their first job.
func NewPool(binary string, limits Limits) *Pool {
	return &Pool{binary: binary, limits: limits, slots: make(chan struct{}, max(1, limits.Workers))}
}

// Do runs a job in a worker as soon as there is a slot. The error is ctx's if ctx is done,
// and ErrDied if the run ended its process. Answer.Notes say what failed and was retried.
func (p *Pool) Do(ctx context.Context, job Job) (Answer, error) {
	select {
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	}
	answer, err := p.retry(ctx, job)
	if ctx.Err() != nil && err != nil {
		err = ctx.Err()
	}
	return answer, err
}

// Close ends the workers. No job may be in progress.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, worker := range p.idle {
		worker.close()
	}
	p.idle = nil
}

// Once runs one job in a worker of its own.
func Once(ctx context.Context, binary string, job Job, limits Limits) (Answer, error) {
	pool := NewPool(binary, limits)
	defer pool.Close()
	return pool.Do(ctx, job)
}

// maxTries is how often a job is tried whose process is killed from outside.
const maxTries = 3

// retry runs a job. If its worker ends and the run is not at fault, another worker runs it.
// If both end, the run has failed, unless they were killed from outside.
func (p *Pool) retry(ctx context.Context, job Job) (Answer, error) {
	job.InPlace = job.InPlace || job.Log != ""
	job.Limits = p.limits.Run
	var notes []string
	for try := 1; ; try++ {
		answer, err := p.try(ctx, job)
		if err == nil {
			err = answer.outside(job.Spec.Seed)
		}
		again := errors.Is(err, errWorker) && try == 1 || errors.Is(err, ErrOutside) && try < maxTries
		switch {
		case again && ctx.Err() == nil:
			notes = append(notes, fmt.Sprintf("%v; it is run again", err))
			continue
		case errors.Is(err, errWorker):
			err = fmt.Errorf("%w: %w", ErrDied, err)
		case errors.Is(err, ErrOutside):
			err = fmt.Errorf("%w (%d times, so that the seed has no verdict)", err, try)
		}
		answer.Notes = append(notes, answer.Notes...)
		return answer, err
	}
}

// outside returns ErrOutside if a forked copy of the run was killed from outside.
func (a Answer) outside(seed uint64) error {
	for _, replies := range a.Forks {
		for _, reply := range replies {
			if reply.Cause.Outside() {
				_, err := reply.Read(seed)
				return err
			}
		}
	}
	return nil
}

// try runs a job in a worker. A worker that runs a job in place runs no other.
func (p *Pool) try(ctx context.Context, job Job) (Answer, error) {
	worker, err := p.take(job)
	if err != nil {
		return Answer{}, err
	}
	stop := context.AfterFunc(ctx, worker.kill)
	answer, err := worker.do(job)
	stop()
	if err != nil && worker.ended && ctx.Err() == nil {
		err = errors.Join(err, p.salvage(worker, job, err))
	}
	if job.InPlace || worker.ended || ctx.Err() != nil {
		worker.close()
	} else {
		p.give(worker)
	}
	return answer, err
}

// take returns a worker for a job: the one of its kind that was busy last, or a new one.
func (p *Pool) take(job Job) (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.idle) - 1; i >= 0 && !job.InPlace; i-- {
		if worker := p.idle[i]; worker.kind == job.kind() {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			return worker, nil
		}
	}
	return startProcess(p.binary, job.kind())
}

// give makes a worker idle.
func (p *Pool) give(worker *process) {
	p.mu.Lock()
	p.idle = append(p.idle, worker)
	var surplus *process
	if len(p.idle) > idlePerSlot*cap(p.slots) {
		surplus, p.idle = p.idle[0], p.idle[1:]
	}
	p.mu.Unlock()
	if surplus != nil {
		surplus.close()
	}
}

// salvage writes what is known of a run whose worker has ended with it.
func (p *Pool) salvage(worker *process, job Job, died error) error {
	if job.Folder == "" {
		return nil
	}
	return scenario.WriteUnfinished(job.Folder, job.Spec, scenario.BuildOf(p.binary), worker.decisions(), died.Error()+"\n")
}
