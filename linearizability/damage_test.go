package linearizability_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// damage breaks a correct history in one place and says which guarantees may be
// reported for it, of which one must be; nil if the history has no such place.
type damage struct {
	name    string
	inflict func(chooser, *model.History) guarantees
}

// pick returns one of the places that a history has.
func pick[T any](c chooser, places []T) (place T, ok bool) {
	if len(places) == 0 {
		return place, false
	}
	return places[c.below(len(places))], true
}

// at is a damage to one of some places.
func at[T any](name string, places func(*model.History) []T, inflict func(T), want ...*linearizability.Guarantee) damage {
	return damage{name, func(c chooser, h *model.History) guarantees {
		place, ok := pick(c, places(h))
		if !ok {
			return nil
		}
		inflict(place)
		return want
	}}
}

func onEvent(name string, keep func(place) bool, inflict func(place), want ...*linearizability.Guarantee) damage {
	return at(name, func(h *model.History) []place { return events(h, keep) }, inflict, want...)
}

func onOperation(name string, keep func(*model.Operation) bool, inflict func(*model.Operation), want ...*linearizability.Guarantee) damage {
	return at(name, func(h *model.History) []*model.Operation { return operations(h, keep) }, inflict, want...)
}

func onStreams(name string, keep func(*model.Stream) bool, inflict func(*model.Stream), want ...*linearizability.Guarantee) damage {
	return at(name, func(h *model.History) []*model.Stream { return streams(h, keep) }, inflict, want...)
}

// damages are all kinds of damage, by what they are done to.
var damages = slices.Concat(streamDamages, readDamages, storeDamages, refusalDamages, clientDamages, serverDamages)

func operations(h *model.History, keep func(*model.Operation) bool) []*model.Operation {
	var kept []*model.Operation
	for i := range h.Operations {
		if keep(&h.Operations[i]) {
			kept = append(kept, &h.Operations[i])
		}
	}
	return kept
}

// reports requires that one of the guarantees is reported and that the verdict
// says failed.
func reports(t require.TestingT, h *model.History, want guarantees) {
	verdict := linearizability.Check(h, lenient())
	require.Equal(t, linearizability.Failed, verdict.Outcome)
	see(t, verdict)
	requireOneOf(t, verdict, want)
}

func requireOneOf(t require.TestingT, verdict linearizability.Verdict, want guarantees) {
	for _, violation := range verdict.Violations {
		if slices.Contains(want, violation.Guarantee) {
			return
		}
	}
	require.Fail(t, "not reported", "want one of %v, got %v", want, verdict.Err())
}

func TestDamageIsReported(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(damages).Draw(t, "damage")
		h := generate(rapidChooser{t}, rapid.IntRange(20, 100).Draw(t, "steps"))
		if want := d.inflict(rapidChooser{t}, h); want != nil {
			reports(t, h, want)
		}
	})
}

// TestEachDamageIsReported sees to it that no kind of damage goes untried.
func TestEachDamageIsReported(t *testing.T) {
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			inflicted := 0
			for seed := range uint64(60) {
				c := randomChooser{rand.New(rand.NewPCG(seed, 2))}
				h := generate(c, 150)
				if want := d.inflict(c, h); want != nil {
					inflicted++
					reports(t, h, want)
				}
			}
			require.Greater(t, inflicted, 5)
		})
	}
}
