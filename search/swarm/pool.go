package swarm

import (
	"context"
	"errors"
)

// Pool is a number of workers that do whatever job comes next. Its methods may
// be called from several goroutines.
type Pool struct{ seats chan *seat }

// NewPool makes a pool of limits.Workers workers. They start with their first job,
// with the given variables, such as "NAME=value", added to their environment.
func NewPool(binary string, limits Limits, environment ...string) *Pool {
	p := &Pool{seats: make(chan *seat, limits.Workers)}
	for range limits.Workers {
		p.seats <- &seat{config: Config{Binary: binary, Limits: limits}, environment: environment}
	}
	return p
}

// Do has a worker do a job, as soon as one is free. A run that ends its
// process is ErrDied.
func (p *Pool) Do(ctx context.Context, job Job) (Answer, error) {
	select {
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	case s := <-p.seats:
		defer func() { p.seats <- s }()
		answer, err := s.do(ctx, job)
		if err == nil && answer.Error != "" {
			err = errors.New(answer.Error)
		}
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return answer, err
	}
}

// Close ends the workers. No job may be under way.
func (p *Pool) Close() {
	for range cap(p.seats) {
		s := <-p.seats
		s.close()
	}
}
