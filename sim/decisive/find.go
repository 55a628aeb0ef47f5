package decisive

import (
	"context"
	"sync"
	"time"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/shrink"
)

// TriedMost is how many choices are tried. Those at the end of a run are tried
// first, as they are closest to what broke.
const TriedMost = 300

// Config is what finding takes.
type Config struct {
	// Try runs a candidate, as shrink.Runner does. It may be called from several
	// goroutines.
	Try func(ctx context.Context, candidate shrink.Case, details bool) (shrink.Outcome, error)
	// Workers is how many candidates are tried at a time.
	Workers int
	// Budget is the real time for it, 0 for as long as it takes.
	Budget time.Duration
}

// Found is what was found of a run.
type Found struct {
	// Numbers are the decisions that matter, in order, counted from 1.
	Numbers []uint64 `json:"numbers"`
	// Choices is how many of the run's choices are not the plain one, and Tried how
	// many of these were tried.
	Choices int `json:"choices"`
	Tried   int `json:"tried"`
}

// Find returns the decisions of a failing run that matter.
func Find(ctx context.Context, config Config, failing shrink.Case) (Found, error) {
	if config.Budget > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, config.Budget)
		defer cancel()
	}
	choices := chosen(sim.Trimmed(failing.Tape))
	found := Found{Choices: len(choices)}
	choices = choices[max(0, len(choices)-TriedMost):]
	matters, tried := make([]bool, len(choices)), make([]bool, len(choices))
	next := make(chan int)
	errs := make(chan error, config.Workers)
	var group sync.WaitGroup
	for range config.Workers {
		group.Go(func() {
			for i := range next {
				candidate := failing
				// An empty tape would leave the decisions to the seed.
				if candidate.Tape = without(failing.Tape, choices[i]); len(candidate.Tape) == 0 {
					candidate.Tape = []byte{0}
				}
				outcome, err := config.Try(ctx, candidate, false)
				if err != nil {
					if ctx.Err() == nil {
						errs <- err
					}
					return
				}
				tried[i], matters[i] = true, !outcome.Broken
			}
		})
	}
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
send:
	for i := len(choices) - 1; i >= 0; i-- {
		select {
		case next <- i:
		case <-done: // every worker gave up
			break send
		}
	}
	close(next)
	<-done
	select {
	case err := <-errs:
		return Found{}, err
	default:
	}
	for i, choice := range choices {
		if tried[i] {
			found.Tried++
		}
		if matters[i] {
			found.Numbers = append(found.Numbers, choice.number)
		}
	}
	return found, nil
}
