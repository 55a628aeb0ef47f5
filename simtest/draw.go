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

// maxWords is how many numbers of 64 bits rapid gets for one call of [Draw]. A run in which a
// generator wants more is skipped.
const maxWords = 1 << 11

// Draw returns a value of one of rapid's generators, such as the objects that a test creates
// or the list of what it does to them. The value follows from the seed and the label, and the
// report of a failure has it. Once a failure has no fault that it does not need, simpler
// values are tried, as rapid does.
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
			// rapid has ended this goroutine and said so to a test that nobody reads.
			t.Skipf("no value of %s could be drawn from %d words", name, len(words))
		}
	}()
	// What rapid does and logs beside it is no part of the run: a copy and a run in place have other tests outside.
	sim.Aside(func() { rapid.MakeFuzz(func(draw *rapid.T) { value = from.Draw(draw, label) })(t.outside, input) })
	done = true
	t.Logf("drawn %s: %+v", name, value)
	return value
}

// Repeat runs so many actions, each of which is drawn by its name. An action finds out what it
// needs to know with [Draw], and one that makes no sense as things are returns. The one without a
// name, if there is one, is run after each of the others, to check what must always hold. Once a
// failure has no fault that it does not need, actions are left out that it does not need either.
func Repeat(t *T, times int, actions map[string]func(*T)) {
	t.Helper()
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(actions)), func(name string) bool { return name == "" })
	outer := t.drawn.within
	defer func() { t.drawn.within = outer }()
	for range times {
		t.drawn.actions++
		t.drawn.within = fmt.Sprintf("action %d", t.drawn.actions)
		if words, given := t.drawn.given[t.drawn.within]; given && len(words) == 0 {
			t.drawn.used[t.drawn.within] = nil // it has been left out, and stays so
			continue
		}
		actions[Draw(t, rapid.SampledFrom(names), "")](t)
		if check := actions[""]; check != nil {
			check(t)
		}
	}
}

// Objects draws objects of a custom resource, by the name of its definition in Config.CRDs,
// such as gadgets.example.com. They have one of four names, are in the namespace default unless
// the resource has none, and whatever else the schema of the stored version allows, but no
// status. What the schema's rules (x-kubernetes-validations, not, oneOf and the like) refuse is
// drawn again.
func (c *Cluster) Objects(definition string) *rapid.Generator[*unstructured.Unstructured] {
	c.t.Helper()
	return Objects(c.t, c.settings, definition)
}

// Objects is [Cluster.Objects] for what is drawn outside of the cluster, as with [Property].
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

// drawn is what the values of a run are drawn from.
type drawn struct {
	within  string              // the action that draws
	actions int                 // that have begun
	given   map[string][]uint64 // instead of what the seed has
	used    map[string][]uint64
	labels  map[string]int
}

func newDrawn(given map[string][]uint64) drawn {
	return drawn{given: given, used: map[string][]uint64{}, labels: map[string]int{}}
}

// name tells the values of one label apart. Those of an action do not depend on other actions.
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
