package simtest

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
)

// T is the testing.TB of one seed's run. It works with assertion libraries, and must be used
// instead of the outer test. Seeds share nothing of it.
type T struct {
	testing.TB
	// Seed is the number of this run.
	Seed uint64

	ctx     context.Context
	reached *reached
	outside *testing.T
	drawn   *drawn
	value   json.RawMessage
}

// Context is done when the test function has returned.
func (t *T) Context() context.Context { return t.ctx }

// Sometimes says that a condition should hold in some run. The test's report counts the runs in
// which it held, and says if there were none: then the test does not reach what it is meant to
// test.
func (t *T) Sometimes(what string, holds bool) {
	t.reached.note(what, holds)
}

// reached counts the conditions that held in a run, for any goroutine of it.
type reached struct {
	mu    sync.Mutex
	times map[string]int
}

func (r *reached) note(what string, holds bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.times == nil {
		r.times = map[string]int{}
	}
	if r.times[what] += 0; holds {
		r.times[what]++
	}
}

// Always fails the run if a condition does not hold.
func (t *T) Always(what string, holds bool) {
	t.Helper()
	t.Sometimes(what, holds)
	if !holds {
		t.Errorf("expected always: %s", what)
	}
}
