package simtest

import (
	endian "encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/sim"
)

// maxWords is how many 64-bit numbers rapid gets for one call of [Draw]. If a generator needs more,
// the run is skipped.
const maxWords = 1 << 11

// Draw returns a value from one of rapid's generators, such as the objects that a test creates or
// its list of operations. The value is a function of the seed and the label, and the report of a
// failure shows it. Once a failure has only faults that it needs, simpler values are tried, as
// rapid does.
func Draw[V any](t *T, from *rapid.Generator[V], label string) (value V) {
	t.Helper()
	name := t.drawn.name(label)
	words := t.drawn.words(name, t.Seed)
	input := make([]byte, 0, 8*len(words))
	for _, word := range words {
		input = endian.LittleEndian.AppendUint64(input, word)
	}
	done := false
	defer func() {
		if !done {
			// rapid has ended this goroutine and reported it to its own test, which nobody reads.
			t.Skipf("no value of %s could be drawn from %d words", name, len(words))
		}
	}()
	// What rapid does and logs here is not part of the run: a copy and a run in place have different tests around them.
	sim.Aside(func() { rapid.MakeFuzz(func(draw *rapid.T) { value = from.Draw(draw, label) })(t.outside, input) })
	done = true
	t.Logf("drawn %s: %+v", name, value)
	return value
}

// Repeat runs that many actions, each drawn by its name. An action gets its arguments with [Draw],
// and returns at once if it does not apply. The action with the empty name, if there is one, runs
// after each of the others, to check invariants. Once a failure has only faults that it needs,
// actions that it does not need are left out, too.
func Repeat(t *T, times int, actions map[string]func(*T)) {
	t.Helper()
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(actions)), func(name string) bool { return name == "" })
	outer := t.drawn.within
	defer func() { t.drawn.within = outer }()
	for range times {
		t.drawn.actions++
		t.drawn.within = fmt.Sprintf("action %d", t.drawn.actions)
		if words, given := t.drawn.given[t.drawn.within]; given && len(words) == 0 {
			t.drawn.used[t.drawn.within] = nil // it stays left out
			continue
		}
		actions[Draw(t, rapid.SampledFrom(names), "")](t)
		if check := actions[""]; check != nil {
			check(t)
		}
	}
}

// Objects draws objects of a custom resource, by the name of its definition in Config.CRDs, such as
// gadgets.example.com. They have one of four names, are in the namespace default if the resource is
// namespaced, and contain whatever else the schema of the stored version allows, except a status.
// Objects that the schema's rules (x-kubernetes-validations, not, oneOf and the like) reject are
// drawn again.
func (c *Cluster) Objects(definition string) *rapid.Generator[*unstructured.Unstructured] {
	c.t.Helper()
	return Objects(c.t, c.settings, definition)
}

// Objects is [Cluster.Objects] for draws outside of a cluster, as with [Property].
func Objects(t testing.TB, config Config, definition string) *rapid.Generator[*unstructured.Unstructured] {
	t.Helper()
	definitions, err := readDefinitions(config.CRDs)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, one := range definitions {
		if found = append(found, one.GetName()); one.GetName() == definition {
			objects, err := objectsOf(one)
			if err != nil {
				t.Fatalf("objects of %s: %v", definition, err)
			}
			return objects
		}
	}
	t.Fatalf("expected the name of a definition in Config.CRDs, one of %q, found %q", found, definition)
	return nil
}

// drawn is the source of the values of a run.
type drawn struct {
	within  string              // the current action
	actions int                 // begun so far
	given   map[string][]uint64 // instead of the seed's
	used    map[string][]uint64
	labels  map[string]int
}

func newDrawn(given map[string][]uint64) drawn {
	return drawn{given: given, used: map[string][]uint64{}, labels: map[string]int{}}
}

// name distinguishes the values of one label. Those of an action do not depend on other actions.
func (d *drawn) name(label string) string {
	if d.within != "" {
		label = strings.TrimSpace(d.within + " " + label)
	}
	d.labels[label]++
	if number := d.labels[label]; number > 1 {
		label = fmt.Sprintf("%s (%d)", label, number)
	}
	return label
}

// words returns the random numbers for a value.
func (d *drawn) words(name string, seed uint64) []uint64 {
	words, given := d.given[name]
	if !given {
		random := sim.Stream(seed, "drawn "+name)
		words = make([]uint64, maxWords)
		for i := range words {
			words[i] = random.Uint64()
		}
	}
	d.used[name] = words
	return words
}
