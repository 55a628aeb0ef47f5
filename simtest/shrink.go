package simtest

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/watchsim/watchsim/faults"
)

// schedules is how many seeds are tried with each smaller plan. From the first dropped fault on,
// everything is scheduled differently, so the same seed may pass although the failure does not need
// that fault.
const schedules = 8

// shrink drops faults that a failure does not need, and then makes drawn values simpler and actions fewer.
// It returns a smaller run that fails alike, possibly of another seed, and reports whether nothing more can
// be dropped.
func (h *hunt) shrink(r report) (small report, whole bool) {
	plan, err := faults.Parse(r.Plan)
	if err != nil || len(plan) == 0 && len(r.Drawn) == 0 {
		return r, true
	}
	if r.Processor > *flagShrink {
		return r, false
	}
	crew, err := h.peers(h.workers())
	defer stop(crew)
	if err != nil {
		return r, false
	}
	again, err := crew[0].do(job{Seed: r.Seed, Kinds: h.kinds, Value: r.Value})
	if err != nil {
		return r, false
	}
	if h.unlike = sameRun(r, again); h.unlike != nil {
		return r, false
	}
	s := &shrinking{crew: crew, until: time.Now().Add(*flagShrink), small: r, whole: true}
	faults.Minimise(plan, faults.EveryItem, func(candidates [][]faults.Fault) int {
		return s.first(schedules, len(candidates), func(i int) job {
			return job{Plan: faults.Plan(candidates[i]).String(), Drawn: s.small.Drawn}
		})
	})
	for _, name := range slices.Sorted(maps.Keys(r.Drawn)) {
		s.simplify(name)
	}
	return s.small, s.whole
}

// shrinking is the search for a smaller run that fails alike.
type shrinking struct {
	crew  []*peer
	until time.Time
	small report
	whole bool // everything has been tried
}

// first runs a number of jobs, each with that many seeds, and returns the index of the first that
// fails alike, or -1. That one becomes the smallest run.
func (s *shrinking) first(seeds uint64, number int, candidate func(int) job) int {
	if !s.whole {
		return -1
	}
	var jobs []job
	base := s.small.Seed
	for schedule := range seeds {
		for i := range number {
			next := candidate(i)
			next.Seed, next.HasPlan, next.Value = base+schedule, true, s.small.Value
			jobs = append(jobs, next)
		}
	}
	found, failed, tried := alike(s.crew, jobs, s.small.signature(), s.until)
	if s.whole = tried || found >= 0; found < 0 {
		return -1
	}
	s.small = failed
	return found % number
}

// simplify redraws a value from fewer and smaller words, which makes it simpler; an action of
// [Repeat] without words is left out. It tries one seed only: there are many words, and the
// schedule matters less than for faults.
func (s *shrinking) simplify(name string) {
	with := func(words []uint64) job {
		drawn := maps.Clone(s.small.Drawn)
		drawn[name] = words
		return job{Plan: s.small.Plan, Drawn: drawn}
	}
	words := faults.Minimise(s.small.Drawn[name], faults.EveryItem, func(candidates [][]uint64) int {
		return s.first(1, len(candidates), func(i int) job { return with(candidates[i]) })
	})
	for at := range words {
		set := func(word uint64) job {
			next := slices.Clone(words)
			next[at] = word
			return with(next)
		}
		var short []uint64 // the upper bits of most words have no effect
		for bits := 0; bits < 64; bits += 4 {
			short = append(short, words[at]&(1<<bits-1))
		}
		short = slices.DeleteFunc(slices.Compact(short), func(word uint64) bool { return word == words[at] })
		if found := s.first(1, len(short), func(i int) job { return set(short[i]) }); found >= 0 {
			words[at] = short[found]
		}
		for low, high := uint64(0), words[at]; low < high && s.whole; {
			middle := low + (high-low)/2
			if s.first(1, 1, func(int) job { return set(middle) }) < 0 {
				low = middle + 1
			} else {
				words[at], high = middle, middle
			}
		}
	}
}

// alike runs jobs until one fails with the signature, and returns its index, or -1. It reports
// whether all jobs began in time and those that began completed.
func alike(crew []*peer, jobs []job, signature string, until time.Time) (found int, failed report, tried bool) {
	var mu sync.Mutex
	next, found, tried := 0, -1, true
	var group sync.WaitGroup
	for _, p := range crew {
		group.Go(func() {
			for {
				mu.Lock()
				at := next
				next++
				over := found >= 0 || at >= len(jobs)
				if !over && time.Now().After(until) {
					over, tried = true, false
				}
				mu.Unlock()
				if over {
					return
				}
				got, err := p.do(jobs[at])
				mu.Lock()
				if err != nil {
					tried = false
				} else if got.signature() == signature && (found < 0 || at < found) {
					found, failed = at, got
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	group.Wait()
	return found, failed, tried
}
