package workload

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

// A change that no client made, such as an expiry, is known once a stream has delivered it.
func TestTheLastChangeIsTheNewestThatAnybodyHasSeen(t *testing.T) {
	r := newRecorder(time.Now())
	write := &model.Operation{Kind: model.Create, Scope: model.Scope{Namespace: "blue", Name: "a"}, ResultRV: 3}
	r.endOperation(r.beginOperation(write), write)
	read := &model.Operation{Kind: model.List, ResultRV: 9, Objects: []model.Object{{Namespace: "red", Name: "b", RV: 4}}}
	r.endOperation(r.beginOperation(read), read)
	require.EqualValues(t, []int64{4, 3, 4}, []int64{r.lastChange(""), r.lastChange("blue"), r.lastChange("red")})

	stream := r.beginStream(&model.Stream{})
	r.event(stream, &model.Event{Type: model.Deleted, RV: 7, Object: &model.Object{Namespace: "blue", Name: "a", RV: 7}})
	r.event(stream, &model.Event{Type: model.Bookmark, RV: 8})
	require.EqualValues(t, []int64{7, 7, 4}, []int64{r.lastChange(""), r.lastChange("blue"), r.lastChange("red")})
}
