package decisive

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/watchsim/watchsim/search/parallel"
	"github.com/watchsim/watchsim/search/shrink"
	"github.com/watchsim/watchsim/search/swarm"
	"github.com/watchsim/watchsim/sim"
)

// MaxTried is how many choices a tape may have for each of them to be tried by
// itself. In a run with more, nearly every change makes another run of all that
// comes after it, which says nothing of the choice.
const MaxTried = 60

// probes is how many beginnings of a tape are tried at a time, whatever the number of
// workers: so that the result does not depend on it.
const probes = 3

// Config is what finding takes.
type Config struct {
	Try shrink.Try
	// Workers is how many calls of it there are at a time.
	Workers int
	// Budget is the real time for it, 0 for as long as it takes.
	Budget time.Duration
	// Shows is the decision at which the violation shows, 0 if that is not known.
	Shows uint64
	// IsLength says whether a decision of the run is the length of a stall.
	IsLength func(decision uint64) bool
}

// Found is what was found of a run.
type Found struct {
	// Choices is how many of the run's choices are not the plain one, up to the
	// violation, and Tried how many runs were made.
	Choices int `json:"choices"`
	Tried   int `json:"tried"`
	// None is that the guarantee is broken with nothing but plain choices.
	None bool `json:"none,omitempty"`
	// Last is the last choice that the failure needs: with plain choices from there on
	// the guarantee is broken, and with a plain one in its place, too, it holds. It is
	// 0 if the search was cut short; then it lies after decision After and not after
	// decision Before, as far as that is known.
	Last   uint64 `json:"last,omitempty"`
	After  uint64 `json:"after,omitempty"`
	Before uint64 `json:"before,omitempty"`
	// Enough is the least in its place with which the guarantee is broken, and TooShort
	// the most with which it holds, if it is the length of a stall.
	Enough   uint32 `json:"enough,omitempty"`
	TooShort uint32 `json:"too_short,omitempty"`
	// Numbers are the decisions that matter each by itself, in order, counted from 1.
	// They include the last one.
	Numbers []uint64 `json:"numbers"`
	// Singly is how many choices before the last one were tried each by itself.
	Singly int `json:"singly,omitempty"`
}

// finder is one search under way.
type finder struct {
	Config
	ctx     context.Context
	failing shrink.Case
	tape    []byte
	choices []choice

	tried int
	err   error
}

// Find looks for the decisions of a failing run that matter. The case that is returned
// is the failing one with nothing but plain choices after the last of them, and with
// as short a stall as will do.
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
	found.Tried = f.tried
	if f.err != nil {
		return Found{}, shrink.Case{}, f.err
	}
	return found, f.failing, nil
}

// last looks for the last choice that matters, from the violation backwards.
func (f *finder) last() Found {
	to := len(f.choices)
	for f.Shows > 0 && to > 0 && f.choices[to-1].number > f.Shows {
		to--
	}
	found := Found{Choices: to}
	beginning := func(n int) []byte { return beginning(f.tape, f.choices, n) }
	holds, broken := 0, to
	// What comes after the violation can hardly matter, but it can.
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

// narrow brings a number with which the guarantee holds and a larger one with which
// it is broken together, until they are next to each other or the search is cut short.
// Where there are several such places it is the highest that the probes tell of.
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

// shortest looks for the shortest stall that is enough.
func (f *finder) shortest(found *Found, last choice) {
	holds, broken := f.narrow(0, int(last.value(f.tape)), func(n int) []byte { return with(f.tape, last, uint32(n)) })
	found.TooShort, found.Enough = uint32(holds), uint32(broken)
	f.tape = with(f.tape, last, found.Enough)
	f.failing.Tape = f.tape
}

// singlyAtOnce is how many choices are tried before it is looked whether there is
// time for more.
const singlyAtOnce = 16

// singly tries each choice by itself, if there are few; the last ones first.
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

// broken says of each tape whether the guarantee is broken with it; nil if the
// budget is used up, or the machine failed. Tapes that are next to each other share the
// run up to where they deviate.
func (f *finder) broken(tapes [][]byte) []bool {
	outcomes := make([]bool, 0, len(tapes))
	shares := slices.Collect(slices.Chunk(tapes, max(1, (len(tapes)+f.Workers-1)/f.Workers)))
	all := make([][]shrink.Outcome, len(shares))
	share := -1
	err := parallel.Run(f.ctx, f.Workers,
		func() (int, bool) { share++; return share, share < len(shares) },
		func(ctx context.Context, share int) ([]shrink.Outcome, error) {
			var candidates []shrink.Case
			for _, tape := range shares[share] {
				candidate := f.failing
				candidate.Tape = tape
				candidates = append(candidates, candidate)
			}
			tried, err := f.Try(ctx, candidates, false)
			if errors.Is(err, swarm.ErrDied) {
				// One whose worker died breaks nothing.
				return make([]shrink.Outcome, len(candidates)), nil
			}
			return tried, err
		},
		func(share int, tried []shrink.Outcome) error {
			all[share] = tried
			f.tried += len(shares[share])
			return nil
		})
	if err != nil && f.ctx.Err() == nil {
		f.err = errors.Join(f.err, err)
	}
	for _, tried := range all {
		for _, outcome := range tried {
			outcomes = append(outcomes, outcome.Broken)
		}
	}
	if f.ctx.Err() != nil || f.err != nil {
		return nil
	}
	return outcomes
}
