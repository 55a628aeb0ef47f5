package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

func TestAWindowServesWhatItHolds(t *testing.T) {
	window := model.Window{Since: 5, Newest: 9}
	for _, row := range []struct {
		name  string
		watch model.Watch
		want  model.Code
	}{
		{"from the start of the window", model.Watch{RV: 5}, model.OK},
		{"from within the window", model.Watch{RV: 7}, model.OK},
		{"from the newest", model.Watch{RV: 9}, model.OK},
		{"from the future", model.Watch{RV: 10}, model.OK},
		{"from before the window", model.Watch{RV: 4}, model.Expired},
		{"any state", model.Watch{RV: 0}, model.OK},
		{"the legacy case", model.Watch{RV: model.RVUnset, Committed: 20}, model.OK},
		{"a state not older than a reached RV", model.Watch{RV: 3, InitialEvents: true}, model.OK},
		{"a state not older than a future RV", model.Watch{RV: 10, InitialEvents: true}, model.TooLarge},
		{"a most-recent state", model.Watch{RV: model.RVUnset, InitialEvents: true, Committed: 10}, model.TooLarge},
	} {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.want, window.Answer(row.watch)) })
	}
}

// TestWhatSomeWindowRefusesMayBeRefused tries all windows that are possible with etcd
// at revision 12.
func TestWhatSomeWindowRefusesMayBeRefused(t *testing.T) {
	const reached = 12
	for rv := int64(-1); rv <= reached+2; rv++ {
		for _, initial := range []bool{false, true} {
			watch := model.Watch{RV: rv, InitialEvents: initial}
			refused := map[model.Code]bool{}
			for newest := int64(1); newest <= reached; newest++ {
				for since := int64(0); since <= newest; since++ {
					code := model.Window{Since: since, Newest: newest}.Answer(watch)
					refused[code] = true
					require.True(t, model.MayRefuse(watch, code, reached), "%+v from a window of (%d, %d]", watch, since, newest)
				}
			}
			if !watch.HasBlock() {
				require.Equal(t, refused[model.Expired], model.MayRefuse(watch, model.Expired, reached), "RV %d", rv)
			}
		}
	}
	require.False(t, model.MayRefuse(model.Watch{RV: 0}, model.TooLarge, reached))
}
