package sim_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

// thing is large enough for the collector to hand its memory out again soon.
type thing struct {
	name string
	_    [1000]byte
}

type (
	pair struct {
		number int
		one    *thing
	}
	stream interface{ Name() string }
	// wrapped has pointers in its second field and later, as etcd's streams of watches do.
	wrapped struct {
		stream
		one *thing
	}
)

func (t *thing) Name() string { return t.name }

// keys makes maps with all kinds of keys that contain pointers, and returns the orders in which
// they are iterated.
func keys(t *testing.T) (string, uint64) {
	order, result := isolate.Value(t, sim.Config{Source: sim.FromSeed(1)}, func(*sim.World) string {
		const many = 100
		structs, arrays, streams := map[pair]string{}, map[[2]*thing]string{}, map[stream]string{}
		anything, channels := map[any]string{}, map[<-chan int]string{}
		made := reflect.MakeMap(reflect.MapOf(reflect.TypeFor[pair](), reflect.TypeFor[string]()))
		var trie sync.Map
		for i := range many {
			name := fmt.Sprint(i)
			one, other := &thing{name: name}, &thing{name: name}
			structs[pair{i % 3, one}] = name
			arrays[[2]*thing{one, other}] = name
			streams[wrapped{one, other}] = name
			anything[[1]pair{{0, one}}] = name
			channels[make(chan int)] = name
			made.SetMapIndex(reflect.ValueOf(pair{i % 3, one}), reflect.ValueOf(name))
			trie.Store(pair{i % 3, one}, name)

			require.Equal(t, name, structs[pair{i % 3, one}])
			require.Equal(t, name, streams[wrapped{one, other}])
			require.Equal(t, name, made.Interface().(map[pair]string)[pair{i % 3, one}], "a compiled access finds what package reflect has put there")
			found, _ := trie.Load(pair{i % 3, one})
			require.Equal(t, name, found)
		}
		var b strings.Builder
		for what, all := range map[string][]string{
			"structs": slices.Collect(maps.Values(structs)), "arrays": slices.Collect(maps.Values(arrays)),
			"interfaces": slices.Collect(maps.Values(streams)), "any": slices.Collect(maps.Values(anything)),
			"channels": slices.Collect(maps.Values(channels)), "reflect": slices.Collect(maps.Values(made.Interface().(map[pair]string))),
		} {
			require.Len(t, all, many)
			fmt.Fprintln(&b, what, all)
		}
		trie.Range(func(_, name any) bool { fmt.Fprintln(&b, "trie", name); return true })
		return b.String()
	})
	return order, result.Hash
}

// Addresses differ between processes, wherever they are in a key.
func TestKeysWithPointersAreIteratedInOneOrder(t *testing.T) {
	first, hash := keys(t)
	garbage := make([][]byte, 1000)
	for i := range garbage {
		garbage[i] = make([]byte, 100+i)
	}
	second, again := keys(t)
	runtime.KeepAlive(garbage)
	require.Equal(t, strings.Split(first, "\n"), strings.Split(second, "\n"))
	require.Equal(t, hash, again)
}

// The linker gives types other addresses whenever code is added to a binary.
func TestTypesAreIteratedInTheOrderOfTheirNames(t *testing.T) {
	order, _ := isolate.Value(t, sim.Config{Source: sim.FromSeed(1)}, func(*sim.World) string {
		types := map[reflect.Type]string{}
		for _, of := range []any{
			0, "", true, 0.0, 'a', byte(0), []int{}, []string{}, map[string]int{}, errors.New, fmt.Sprint, &sync.Map{}, &strings.Builder{}, time.Second, time.Time{}, &time.Time{},
		} {
			types[reflect.TypeOf(of)] = reflect.TypeOf(of).String()
		}
		numbers := map[any]int{}
		for i := -100; i <= 100; i++ {
			numbers[i] = i // keys of such a map may look like the address of a type, and be none
		}
		require.Equal(t, -1, numbers[-1])
		return strings.Join(slices.Collect(maps.Values(types)), ", ")
	})
	require.Equal(t, "int32, []int, map[string]int, *sync.Map, float64, func(string) error, func(...interface {}) string, int, bool, []string, "+
		"time.Duration, *time.Time, string, uint8, *strings.Builder, time.Time", order, "any other binary built with this Go has this order")
}

// orders repeatedly fills maps with pointers, as objects come and go, and returns the orders in
// which they were iterated.
func orders(t *testing.T, heap uint64) (string, uint64) {
	order, result := isolate.Value(t, sim.Config{Source: sim.FromSeed(1), Limits: sim.Limits{HeapBytes: heap}}, func(*sim.World) string {
		var b strings.Builder
		for round := range 20 {
			all := map[*thing]bool{}
			for i := range 100 {
				all[&thing{name: fmt.Sprint(round, "-", i)}] = true
			}
			for one := range all {
				fmt.Fprintln(&b, one.name)
			}
			time.Sleep(time.Second) // here garbage is collected
		}
		return b.String()
	})
	return order, result.Hash
}

// When garbage is collected depends on the size of the heap, and later allocations may reuse other
// addresses.
func TestACollectionLeavesNoTrace(t *testing.T) {
	never, hash := orders(t, 1<<40)
	always, collected := orders(t, 1<<10)
	require.Equal(t, never, always)
	require.Equal(t, hash, collected)
}
