package linearizability

import (
	"math"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/model"
)

// TestReadsThatNeedNoPlace proves that the searched operations can be ordered if and only if all calls can.
func TestReadsThatNeedNoPlace(t *testing.T) {
	possible, left, all := map[bool]int{}, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		r := &register{}
		for i := range rapid.IntRange(1, 5).Draw(t, "versions") {
			v := model.Version{RV: int64(10 * (i + 1))}
			if i == 0 || r.versions[i-1].Object == nil || rapid.Bool().Draw(t, "there") {
				v.Object = &model.Object{Name: "x", RV: v.RV}
			}
			r.versions = append(r.versions, v)
		}
		r.claimed = make([]bool, len(r.versions))
		draw := func(c *call) {
			c.begin = int64(rapid.IntRange(0, 12).Draw(t, "begin"))
			c.end = c.begin + int64(rapid.IntRange(0, 6).Draw(t, "lasts"))
			r.add(c)
		}
		for i, v := range r.versions {
			switch rapid.IntRange(0, 3).Draw(t, "maker") {
			case 0:
				r.given(i)
			case 1:
				if v.Object == nil {
					draw(&call{op: &model.Operation{Kind: model.Delete}, effect: []effect{deletes, mayDelete}[rapid.IntRange(0, 1).Draw(t, "may")]})
					continue
				}
				fallthrough
			default:
				r.claimed[i] = true
				draw(&call{effect: makesVersion, version: i})
			}
		}
		for range rapid.IntRange(0, 6).Draw(t, "reads") {
			op := &model.Operation{Kind: model.Get, Err: model.NotFound}
			if at := rapid.IntRange(-1, len(r.versions)-1).Draw(t, "saw"); at >= 0 && r.versions[at].Object != nil {
				op.Err, op.ResultRV = model.OK, r.versions[at].RV
			}
			low := rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "low")
			draw(&call{op: op, effect: observes, minMade: low, maxMade: len(r.versions)})
		}
		want := porcupine.CheckOperationsTimeout(registerModel, each(r.calls), time.Minute)
		searched := toSearch(r.calls, nil)
		require.Equal(t, want, order(registerModel, searched, time.Minute))
		possible[want == porcupine.Ok]++
		left, all = left+len(searched), all+len(r.calls)
	})
	require.Greater(t, possible[true], 10)
	require.Greater(t, possible[false], 10)
	require.Less(t, left, all)
}

// TestManyReadsAtOnce has 400 reads that overlap each other and the writes, as with clock skew.
func TestManyReadsAtOnce(t *testing.T) {
	r := &register{}
	const versions = 40
	for i := range versions {
		rv := int64(i + 1)
		r.versions = append(r.versions, model.Version{RV: rv, Object: &model.Object{Name: "x", RV: rv}})
	}
	r.claimed = make([]bool, versions)
	for i := range versions {
		r.claimed[i] = true
		r.add(&call{begin: int64(i), end: int64(i) + 1000, effect: makesVersion, version: i})
	}
	for i := range 10 * versions {
		op := &model.Operation{Kind: model.Get, ResultRV: int64(i%versions + 1)}
		r.add(&call{op: op, begin: int64(i % versions), end: math.MaxInt32, effect: observes, maxMade: versions})
	}
	require.Equal(t, porcupine.Ok, order(registerModel, toSearch(r.calls, nil), 5*time.Second))
}
