package decisive

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/watchsim/watchsim/search/parallel"
	"github.com/watchsim/watchsim/search/shrink"
	"github.com/watchsim/watchsim/search/swarm"
	"github.com/watchsim/watchsim/sim"
)

// MaxTried is the largest number of deviations on a tape for which each is tried by itself. In a
// run with more, nearly every change makes everything after it another run, which says nothing
// about the deviation.
const MaxTried = 60

// probes is how many prefixes of a tape are tried at a time. It does not depend on the number of
// workers, so that the result does not either.
const probes = 3

// Config configures a search.
type Config struct {
	Try shrink.Try
	// Workers is how many calls of it run concurrently.
	Workers int
	// Budget is the real time for it, 0 for no limit.
	Budget time.Duration
	// Shows is the decision at which the violation shows, 0 if unknown.
	Shows uint64
	// IsLength says whether a decision of the run is the length of a stall.
	IsLength func(decision uint64) bool
}

// Found is the result of a search.
type Found struct {
	// Choices is the number of deviations up to the violation, and Tried the number of runs made.
	Choices int `json:"choices"`
	Tried   int `json:"tried"`
	// None means that the guarantee is broken with default decisions only.
	None bool `json:"none,omitempty"`
	// Last is the last deviation that the failure needs: with default decisions after it the
	// guarantee is broken, and with a default one in its place, too, it holds. It is 0 if the
	// search was cut short; then, as far as known, it lies after decision After and not after
	// decision Before.
	Last   uint64 `json:"last,omitempty"`
	After  uint64 `json:"after,omitempty"`
	Before uint64 `json:"before,omitempty"`
	// Enough is the shortest stall with which the guarantee is broken, and TooShort the longest with
	// which it holds, if the last deviation is the length of a stall.
	Enough   uint32 `json:"enough,omitempty"`
	TooShort uint32 `json:"too_short,omitempty"`
	// Numbers are the decisions that each matter by themselves, in order, counted from 1. They
	// include the last one.
	Numbers []uint64 `json:"numbers"`
	// Singly is how many deviations before the last one were each tried by themselves.
	Singly int `json:"singly,omitempty"`
}

// finder is a search in progress.
type finder struct {
	Config
	ctx     context.Context
	failing shrink.Case
	tape    []byte
	choices []choice

	tried atomic.Int64
	err   error
}

// Find looks for the decisions that a failing run needs. The returned case is the failing one with
// only default decisions after the last of them, and with the shortest sufficient stall.
func Find(ctx context.Context, config Config, failing shrink.Case) (Found, shrink.Case, error) {
	if config.Budget > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, config.Budget)
		defer cancel()
	}
	tape := sim.Trimmed(failing.Tape)
	f := &finder{Config: config, ctx: ctx, failing: failing, tape: tape, choices: chosen(tape)}
	found := f.last()
	if i := slices.IndexFunc(f.choices, func(c choice) bool { return c.number == found.Last }); i >= 0 {
		last := f.choices[i]
		f.tape = f.tape[:last.to]
		f.failing.Tape = f.tape
		if config.IsLength(last.number) {
			f.shortest(&found, last)
		}
		f.singly(&found)
	}
	found.Tried = int(f.tried.Load())
	if f.err != nil {
		return Found{}, shrink.Case{}, f.err
	}
	return found, f.failing, nil
}

// last looks for the last deviation that matters, backwards from the violation.
func (f *finder) last() Found {
	to := len(f.choices)
	for f.Shows > 0 && to > 0 && f.choices[to-1].number > f.Shows {
		to--
	}
	found := Found{Choices: to}
	beginning := func(n int) []byte { return beginning(f.tape, f.choices, n) }
	holds, broken := 0, to
	// What comes after the violation hardly ever matters, but it can.
	switch outcomes := f.broken([][]byte{beginning(0), beginning(to)}); {
	case outcomes == nil:
		return found
	case outcomes[0]:
		found.None = true
		return found
	case len(f.choices) == 0:
		f.err = shrink.ErrNotBroken
		return found
	case !outcomes[1]:
		holds, broken, found.Choices = to, len(f.choices), len(f.choices)
	}
	holds, broken = f.narrow(holds, broken, beginning)
	if broken-holds > 1 {
		found.Before = f.choices[broken-1].number
		if holds > 0 {
			found.After = f.choices[holds-1].number
		}
		return found
	}
	found.Last = f.choices[broken-1].number
	found.Numbers = []uint64{found.Last}
	return found
}

// narrow bisects between a number with which the guarantee holds and a larger one with which it is
// broken, until they are adjacent or the search is cut short. If there are several such places, it
// finds the highest that the probes show.
func (f *finder) narrow(holds, broken int, tape func(n int) []byte) (int, int) {
	for broken-holds > 1 {
		var at []int
		var tapes [][]byte
		for i := 1; i <= probes; i++ {
			if n := holds + (broken-holds)*i/(probes+1); n > holds && (len(at) == 0 || n > at[len(at)-1]) {
				at, tapes = append(at, n), append(tapes, tape(n))
			}
		}
		outcomes := f.broken(tapes)
		if outcomes == nil {
			break
		}
		for i := len(at) - 1; i >= 0; i-- {
			if !outcomes[i] {
				holds = at[i]
				break
			}
			broken = at[i]
		}
	}
	return holds, broken
}

// shortest looks for the shortest stall that suffices.
func (f *finder) shortest(found *Found, last choice) {
	holds, broken := f.narrow(0, int(last.value(f.tape)), func(n int) []byte { return with(f.tape, last, uint32(n)) })
	found.TooShort, found.Enough = uint32(holds), uint32(broken)
	f.tape = with(f.tape, last, found.Enough)
	f.failing.Tape = f.tape
}

// singlyAtOnce is how many deviations are tried between two checks of the budget.
const singlyAtOnce = 16

// singly tries each deviation by itself if there are few, last ones first.
func (f *finder) singly(found *Found) {
	choices := chosen(f.tape)
	choices = choices[:len(choices)-1]
	if len(choices) > MaxTried {
		return
	}
	for to := len(choices); to > 0; to -= singlyAtOnce {
		batch := choices[max(0, to-singlyAtOnce):to]
		tapes := make([][]byte, len(batch))
		for i, c := range batch {
			tapes[i] = with(f.tape, c, 0)
		}
		outcomes := f.broken(tapes)
		if outcomes == nil {
			return
		}
		for i := len(batch) - 1; i >= 0; i-- {
			if !outcomes[i] {
				found.Numbers = append(found.Numbers, batch[i].number)
			}
		}
		found.Singly += len(batch)
	}
	slices.Sort(found.Numbers)
}

// broken says for each tape whether it breaks the guarantee; nil if the budget is used up or a
// worker failed. Adjacent tapes share the run up to where they diverge.
func (f *finder) broken(tapes [][]byte) []bool {
	outcomes := make([]bool, len(tapes))
	each := max(1, (len(tapes)+f.Workers-1)/f.Workers)
	var shares []int // where each share of the tapes begins
	for first := 0; first < len(tapes); first += each {
		shares = append(shares, first)
	}
	err := parallel.Each(f.ctx, f.Workers, shares, func(ctx context.Context, first int) error {
		var candidates []shrink.Case
		for _, tape := range tapes[first:min(first+each, len(tapes))] {
			candidate := f.failing
			candidate.Tape = tape
			candidates = append(candidates, candidate)
		}
		tried, err := f.Try(ctx, candidates, false)
		if err != nil && !errors.Is(err, swarm.ErrDied) { // a candidate whose worker died breaks nothing
			return err
		}
		f.tried.Add(int64(len(candidates)))
		for i, outcome := range tried {
			outcomes[first+i] = outcome.Broken
		}
		return nil
	})
	if err != nil && f.ctx.Err() == nil {
		f.err = errors.Join(f.err, err)
	}
	if f.ctx.Err() != nil || f.err != nil {
		return nil
	}
	return outcomes
}
