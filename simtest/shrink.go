package simtest

import (
	"sync"
	"time"

	"github.com/watchsim/watchsim/faults"
)

// schedules is how many seeds are tried with each smaller plan. From the first fault on that is
// left out, everything is scheduled differently, so the same seed may pass although the failure
// does not need that fault.
const schedules = 8

// shrink drops faults that a failure does not need, and returns a run that fails alike with
// fewer, which may be that of another seed. It reports whether nothing more can be dropped.
func (h *hunt) shrink(r report) (small report, whole bool) {
	plan, err := faults.Parse(r.Plan)
	if err != nil || len(plan) == 0 {
		return r, true
	}
	if r.Processor > *flagShrink {
		return r, false
	}
	var crew []*peer
	defer func() {
		for _, p := range crew {
			p.stop()
		}
	}()
	for range h.workers() {
		p, err := h.start()
		if err != nil {
			return r, false
		}
		crew = append(crew, p)
	}
	again, err := crew[0].do(job{Seed: r.Seed, Kinds: h.kinds})
	if err != nil {
		return r, false
	}
	if h.unlike = sameRun(r, again); h.unlike != nil {
		return r, false
	}
	small, whole = r, true
	until := time.Now().Add(*flagShrink)
	faults.Minimise(plan, faults.EveryItem, func(candidates [][]faults.Fault) int {
		if !whole {
			return -1
		}
		var jobs []job
		for schedule := range uint64(schedules) {
			for _, candidate := range candidates {
				jobs = append(jobs, job{Seed: r.Seed + schedule, Plan: faults.Plan(candidate).String(), HasPlan: true})
			}
		}
		found, failed, tried := alike(crew, jobs, r.signature(), until)
		if whole = tried || found >= 0; found < 0 {
			return -1
		}
		small = failed
		return found % len(candidates)
	})
	return small, whole
}

// alike runs jobs until one fails with the signature, and returns its index, -1 if none does.
// It reports whether every job that it began came to its end, and all began in time.
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
