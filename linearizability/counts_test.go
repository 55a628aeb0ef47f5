package linearizability_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// TestEveryCountCanBeDemanded sets each field of a minimum in turn, so that none is
// missing in the comparison.
func TestEveryCountCanBeDemanded(t *testing.T) {
	counts := reflect.TypeFor[linearizability.Counts]()
	seen := map[string]bool{}
	for i := range counts.NumField() {
		config := lenient()
		reflect.ValueOf(&config.Minimum).Elem().Field(i).SetInt(1000)
		verdict := linearizability.Check(&model.History{Truth: shortTruth(), End: 1}, config)
		require.Equal(t, linearizability.Inconclusive, verdict.Outcome, counts.Field(i).Name)
		require.Contains(t, verdict.Reason, "expected at least 1000 ", counts.Field(i).Name)
		require.NotContains(t, verdict.Reason, ";", counts.Field(i).Name)
		require.False(t, seen[verdict.Reason], "two counts have one name: %s", verdict.Reason)
		seen[verdict.Reason] = true
	}
}

func TestCountsAreListedBesideTheirMinimum(t *testing.T) {
	require.Equal(t, "59 writes (at least 5), 0 gets (at least 1), 3 lists",
		linearizability.Counts{Writes: 59, Lists: 3}.Against(linearizability.Counts{Writes: 5, Gets: 1}))
	require.Equal(t, "nothing", linearizability.Counts{}.Against(linearizability.Counts{}))
}

func TestRelistsAreWhatComesAfterAWatch(t *testing.T) {
	list := func(id int, client string, continues int) model.Operation {
		op := model.Operation{ID: id, Client: client, Server: "s1", Kind: model.List, RV: model.RVUnset, Call: int64(id) * 10, Return: int64(id)*10 + 1,
			Limit: 1, ResultRV: 15, Remaining: 1, HasMore: true, Objects: []model.Object{*objectAt(15)}}
		if continues != 0 {
			op.Continues, op.HasMore, op.Remaining, op.Objects = continues, false, -1, []model.Object{*objectAt(9)}
		}
		return op
	}
	watch := func(id int, client string, change func(*model.Stream)) model.Stream {
		s := model.Stream{ID: id, Client: client, Server: "s1", RV: 15, Call: int64(id) * 10, Return: int64(id)*10 + 1, Closed: int64(id)*10 + 2,
			Reason: model.ClosedByClient}
		change(&s)
		return s
	}
	h := &model.History{Truth: shortTruth(), End: 300, Operations: []model.Operation{
		list(1, "follower", 0), list(2, "follower", 1), // the first list, in two pages
		list(4, "follower", 0), list(5, "follower", 4), // again
		list(6, "reader", 0), list(7, "reader", 0), // a reader watches nothing
		list(20, "wanderer", 0), list(22, "wanderer", 0), // its watches follow from nothing
	}, Streams: []model.Stream{
		watch(3, "follower", func(s *model.Stream) { s.ResumesList = 2 }),
		watch(8, "follower", func(s *model.Stream) { s.ResumesStream = 3 }),
		watch(9, "follower", func(s *model.Stream) { s.InitialEvents, s.RV, s.Err = true, model.RVUnset, model.TooMany }), // and again
		watch(21, "wanderer", func(*model.Stream) {}),
	}}
	require.Equal(t, 2, judge(t, h, nil).Counts.Relists)
}
