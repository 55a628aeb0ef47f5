package linearizability

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

// TestADisagreementIsInconclusive has walks that have no findings, or a false positive.
func TestADisagreementIsInconclusive(t *testing.T) {
	object := func(rv int64) model.Object { return model.Object{Name: "x", Value: "v", RV: rv} }
	history := &model.History{Truth: model.Truth{Revision: 3, Changes: []model.Change{{RV: 2, Object: object(2)}, {RV: 3, Object: object(3)}}}}
	two, three := object(2), object(3)
	sound := model.Stream{ID: 1, Client: "c", RV: 1, Closed: 9, Events: []model.Event{
		{Type: model.Added, RV: 2, Object: &two}, {Type: model.Modified, RV: 3, Object: &three}}}
	gap := sound
	gap.Events = gap.Events[1:]

	for _, row := range []struct {
		name   string
		stream *model.Stream
		broken bool
		reason string
	}{
		{"both accept", &sound, false, ""},
		{"both reject", &gap, true, ""},
		{"the walk alone accepts", &gap, false, "no guarantee is broken, but the specification does not allow the events that it received"},
		{"the search alone accepts", &sound, true, "a guarantee is broken, but the specification allows the events that it received"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFacts(history, Config{SearchEvents: 10, SearchChanges: 10})
			f.walks = []*walk{{facts: f, stream: row.stream}}
			if row.broken {
				f.walks[0].violate(Reliable, missingEvent, onStream(row.stream))
			}
			var out findings
			crossCheck(f, &out)
			require.Equal(t, 1, out.judged.Searched)
			if row.reason == "" {
				require.Empty(t, out.reasons)
				return
			}
			require.Len(t, out.reasons, 1)
			require.Equal(t, OracleDisagrees, out.reasons[0].Code)
			require.Contains(t, out.reasons[0].Text, row.reason)
		})
	}
}
