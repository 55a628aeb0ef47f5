package linearizability

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

func TestBoundsOfTheRevision(t *testing.T) {
	at := func(call, returned int64) *model.Operation { return &model.Operation{Call: call, Return: returned} }
	slow, quick := at(10, 100), at(20, 30)
	b := newBounds([]write{
		{op: slow, rv: 5},
		{op: quick, rv: 7},
		{op: at(40, model.Pending), rv: 12}, // called before the next, committed after it
		{op: at(50, 60), rv: 9},
	}, &model.History{Truth: model.Truth{Revision: 20}})

	for time, want := range map[int64]int64{0: 0, 30: 0, 31: 7, 60: 7, 61: 9, 100: 9, 101: 9} {
		got, op := b.minRV(time)
		require.Equal(t, want, got, "at least, at %d", time)
		require.Equal(t, want != 0, op != nil)
	}
	for time, want := range map[int64]int64{9: 4, 10: 6, 19: 6, 20: 8, 39: 8, 40: 8, 49: 8, 50: 20, 1000: 20} {
		require.Equal(t, want, b.maxRV(time), "at most, at %d", time)
	}
	_, op := b.minRV(101)
	require.EqualValues(t, 50, op.Call, "the witness is the write with that RV, not the last to return")
	require.EqualValues(t, 20, newBounds(nil, &model.History{Truth: model.Truth{Revision: 20}}).maxRV(0))
}
