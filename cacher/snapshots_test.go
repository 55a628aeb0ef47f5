package cacher

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
)

// contents returns the keys and RVs in a tree, and by node in its index; they must agree.
func contents(t require.TestingT, of *tree) map[string]string {
	found, indexed := map[string]string{}, map[string]string{}
	of.ascend("/pods/", "", func(e *element) bool {
		found[e.key] = e.object.(*example.Pod).ResourceVersion
		return true
	})
	for _, node := range []string{"x", "y"} {
		of.ascendIndex(nodeField, node, "/pods/", "", func(e *element) bool {
			require.Equal(t, node, e.object.(*example.Pod).Spec.NodeName)
			indexed[e.key] = e.object.(*example.Pod).ResourceVersion
			return true
		})
	}
	require.Equal(t, found, indexed)
	return found
}

// After any writes and reads, each past state that the cache serves is correct, and it serves those
// that its window reaches back to.
func TestPastStatesAreThoseThatWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		indexers := &cache.Indexers{nodeField: func(object any) ([]string, error) {
			return []string{object.(*example.Pod).Spec.NodeName}, nil
		}}
		empty := newTree(indexers)
		s := newState(clocktesting.NewFakeClock(time.Now()), empty, limits{age: time.Hour, min: 1, max: rapid.IntRange(1, 30).Draw(t, "window")})
		s.log.dispatched = 1 << 60
		s.replace(empty.empty(), 10)
		truth := map[uint64]map[string]string{10: {}}
		current := map[string]string{}
		rv := uint64(10)
		t.Repeat(map[string]func(*rapid.T){
			"change": func(t *rapid.T) {
				for range rapid.Uint64Range(0, 2).Draw(t, "elsewhere") {
					rv++ // a change of another resource
					truth[rv] = maps.Clone(current)
				}
				rv++
				pod := onNode(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "name"), rapid.SampledFrom([]string{"x", "y"}).Draw(t, "node"))
				pod.ResourceVersion = fmt.Sprint(rv)
				e := &event{kind: watch.Modified, rv: rv, key: podKey(pod), after: &element{key: podKey(pod), object: pod}}
				if _, exists := current[e.key]; exists && rapid.Bool().Draw(t, "delete") {
					e.kind = watch.Deleted
					delete(current, e.key)
				} else {
					current[e.key] = pod.ResourceVersion
				}
				require.NoError(t, s.apply(e))
				truth[rv] = maps.Clone(current)
			},
			"read now": func(t *rapid.T) {
				now, at := s.latest()
				require.Equal(t, rv, at)
				require.Equal(t, current, contents(t, now))
			},
			"read the past": func(t *rapid.T) {
				at := rapid.Uint64Range(10, rv).Draw(t, "rv")
				past, held := s.at(at)
				require.Equal(t, at >= s.log.floor, held)
				if held {
					require.Equal(t, truth[at], contents(t, past))
				}
			},
			"": func(t *rapid.T) {
				require.True(t, slices.IsSortedFunc(s.snapshots.kept, func(a, b snapshot) int { return int(a.rv) - int(b.rv) }))
			},
		})
		_, held := s.at(rv + 1)
		require.False(t, held, "the future is not served")
	})
}

func TestCompactedAndDoubtfulStatesAreNotServed(t *testing.T) {
	empty := newTree(nil)
	s := newState(clocktesting.NewFakeClock(time.Now()), empty, limits{age: time.Hour, min: 1, max: 100})
	s.replace(empty, 10)
	s.progress(20)
	require.True(t, s.canServe(10))
	s.compact(15)
	require.False(t, s.canServe(14))
	require.True(t, s.canServe(15))
	s.markConsistent(false)
	require.False(t, s.canServe(20))
	require.False(t, s.servesPast())
	s.progress(30)
	s.markConsistent(true)
	require.False(t, s.canServe(29))
	require.True(t, s.canServe(30))
	require.False(t, s.canServe(31))
}
