package simtest

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
)

// T is the test as the run of one seed sees it. It works with assertions for testing.TB, and
// must be used instead of the test outside. Nothing here is shared with other seeds.
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

// Context is done when the function of the test has returned.
func (t *T) Context() context.Context { return t.ctx }

// Sometimes says that a condition should hold in some run. The report of the test counts the
// runs in which it did, and says if there were none: then the test does not reach what it is
// meant to.
func (t *T) Sometimes(what string, holds bool) {
	t.reached.note(what, holds)
}

// reached counts what has held in a run, for any goroutine of it.
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
