package simtest

import (
	"slices"
	"time"

	"github.com/watchsim/watchsim/faults"
)

// shrink drops faults that a failure does not need, by delta debugging (Zeller and
// Hildebrandt): larger pieces of the plan first, and single faults in the end. Any failure
// counts. It reports whether nothing more can be dropped.
func (h *hunt) shrink(r report) (small report, whole bool) {
	plan, err := faults.Parse(r.Plan)
	if err != nil || len(plan) == 0 {
		return r, true
	}
	p, err := h.start()
	if err != nil {
		return r, false
	}
	defer p.stop()
	until := time.Now().Add(*flagShrink)
	for size := len(plan); size > 0 && len(plan) > 0; {
		had := len(plan)
		for from := 0; from < len(plan); {
			if time.Now().After(until) {
				return r, false
			}
			smaller := slices.Delete(slices.Clone(plan), from, min(from+size, len(plan)))
			got, err := p.do(job{Seed: r.Seed, Plan: smaller.String(), HasPlan: true})
			if err != nil {
				return r, false
			}
			if got.Failed {
				plan, r = smaller, got
			} else {
				from += size
			}
		}
		if size = min(size, len(plan)); size > 1 || len(plan) == had {
			size /= 2
		}
	}
	return r, true
}
