package simtest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Property prepares a test whose values [rapid.Check] draws. The function that it returns runs the
// test for a value, in a cluster of its own and with a seed that rapid also draws, and fails the
// property if the run fails. Rapid then looks for a simpler value that fails alike, and faults that
// the simplest one does not need are dropped.
//
//	run := simtest.Property(t, simtest.Config{}, func(t *simtest.T, c *simtest.Cluster, names []string) { ... })
//	rapid.Check(t, func(draw *rapid.T) { run(draw, rapid.SliceOf(rapid.String()).Draw(draw, "names")) })
//
// The value goes to another process as JSON: the property fails if it does not survive the round
// trip. Nothing else that the property draws reaches the function, which may only use what is
// declared around Property. One process simulates at a time, as rapid waits for each result.
func Property[V any](t *testing.T, config Config, body func(t *T, c *Cluster, value V)) func(draw *rapid.T, value V) {
	t.Helper()
	var inside func(*T, *Cluster)
	if body != nil {
		inside = func(t *T, c *Cluster) {
			var value V
			if err := json.Unmarshal(t.value, &value); err != nil {
				t.Fatalf("expected a value of type %T, found %s: %v; delete the file if it was kept for another type", value, t.value, err)
			}
			body(t, c, value)
		}
	}
	h := newHunt(t, &config, inside)
	began := time.Now()
	if *flagNoFork {
		h.keptInPlace(config, inside)
	}
	h.each = "value"
	p := &property{hunt: h, known: map[string]report{}}
	t.Cleanup(func() {
		stop(p.peers)
		if !p.broken {
			h.conclude(began)
		}
	})
	for _, next := range h.kept {
		if next.Value == nil {
			p.broken = true
			t.Fatalf("expected a value in %s, found none; delete the file if it was kept before the test had values", next.Kept)
		}
		if r := p.run(next); r.Failed {
			t.FailNow()
		}
	}
	until, limit := deadline(t.Deadline())
	return func(draw *rapid.T, value V) {
		draw.Helper()
		next := job{Seed: rapid.Uint64Range(h.first, h.last).Draw(draw, "seed"), Kinds: h.kinds, Value: encode(draw, value)}
		if h.failed == nil && time.Now().After(until) {
			h.cut = fmt.Sprintf("the values after those were not tried within %s", limit)
			return
		}
		switch r := p.run(next); {
		case r.Failed && r.signature() == h.failed.signature():
			// Rapid compares messages, and with another seed or value the log may differ.
			draw.Fatalf("the run fails, as the report says after what rapid has drawn")
		case r.Skipped || r.Failed:
			draw.Skip("the run was skipped, or fails by something else")
		}
	}
}

// encode returns a value as JSON and checks that nothing of it is lost.
func encode[V any](draw *rapid.T, value V) json.RawMessage {
	draw.Helper()
	text, err := json.Marshal(value)
	var back V
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err == nil && !reflect.DeepEqual(value, back) {
		err = fmt.Errorf("it comes back as %+v", back)
	}
	if err != nil {
		draw.Fatalf("expected a value that JSON keeps as it is, such as a struct of exported fields, found %T %+v: %v", value, value, err)
	}
	return text
}

// property runs one job after another.
type property struct {
	*hunt
	peers  []*peer
	known  map[string]report // of completed runs: rapid draws most values many times when it simplifies
	broken bool              // the test has failed for another reason than a run
}

// run has the workers run a job. It keeps the report of the last failure with the signature of the first one.
func (p *property) run(next job) (r report) {
	p.t.Helper()
	name := fmt.Sprintf("%d %s", next.Seed, next.Value)
	r, before := p.known[name]
	err := error(nil)
	if p.peers == nil {
		p.peers, err = p.hunt.peers(*flagVerify)
	}
	if err == nil && !before {
		r, err = alikeEverywhere(p.peers, next)
	}
	switch {
	case err != nil:
		p.broken = true
		p.t.Fatal(err)
	case p.failed == nil && !before:
		p.note(r)
	case r.Failed && r.signature() == p.failed.signature():
		p.failed = &r
	}
	if !r.Failed {
		r = report{Skipped: r.Skipped} // the rest is too large to keep
	}
	p.known[name] = r
	return r
}

// keptInPlace runs the kept failure of -simtest.seed, as only a kept one has a value, and ends the test.
func (h *hunt) keptInPlace(config Config, body func(*T, *Cluster)) {
	all, err := kept(h.t.Name())
	if err != nil {
		h.t.Fatal(err)
	}
	for _, next := range all {
		if *flagSeed >= 0 && next.Seed == uint64(*flagSeed) && next.Value != nil {
			began := time.Now()
			if err := h.inPlace(config, body, next); err != nil {
				h.t.Fatal(err)
			}
			h.conclude(began)
			if !h.t.Failed() {
				h.t.Skip("only one kept failure was run, which passed")
			}
			h.t.FailNow()
		}
	}
	h.t.Fatalf("expected -simtest.no-fork with the -simtest.seed of a failure that was kept, as that has a value, found none of seed %d in %s", *flagSeed, keptDir(h.t.Name()))
}

// valueHeader begins the line of the file of a failure that has its value.
const valueHeader = "# watchsim value "

// keptValue reads the value from the file of a failure, nil for none.
func keptValue(content string) json.RawMessage {
	for line := range strings.Lines(content) {
		if text, is := strings.CutPrefix(line, valueHeader); is {
			return json.RawMessage(strings.TrimSpace(text))
		}
	}
	return nil
}
