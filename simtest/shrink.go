package simtest

import (
	"slices"
	"time"

	"github.com/watchsim/watchsim/faults"
)

// shrink drops faults that a failure does not need. It reports whether nothing more can be
// dropped.
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
	small, whole = r, true
	faults.Minimise(plan, faults.EveryItem, func(candidates [][]faults.Fault) int {
		return slices.IndexFunc(candidates, func(candidate []faults.Fault) bool {
			if !whole || time.Now().After(until) {
				whole = false
				return false
			}
			got, err := p.do(job{Seed: r.Seed, Plan: faults.Plan(candidate).String(), HasPlan: true})
			if whole = err == nil; !whole || got.signature() != r.signature() {
				return false
			}
			small = got
			return true
		})
	})
	return small, whole
}
