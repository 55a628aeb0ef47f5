package linearizability_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// TestEveryCountCanBeDemanded sets each field of a minimum in turn, so that none
// is forgotten where they are compared.
func TestEveryCountCanBeDemanded(t *testing.T) {
	counts := reflect.TypeFor[linearizability.Counts]()
	seen := map[string]bool{}
	for i := range counts.NumField() {
		config := lenient()
		reflect.ValueOf(&config.Minimum).Elem().Field(i).SetInt(1000)
		verdict := linearizability.Check(&model.History{Truth: shortTruth(), End: 1}, config)
		require.Equal(t, linearizability.Inconclusive, verdict.Outcome, counts.Field(i).Name)
		require.Contains(t, verdict.Reason, "of at least 1000", counts.Field(i).Name)
		require.NotContains(t, verdict.Reason, ";", counts.Field(i).Name)
		require.False(t, seen[verdict.Reason[strings.Index(verdict.Reason, "only"):]], "two counts have one name: %s", verdict.Reason)
		seen[verdict.Reason[strings.Index(verdict.Reason, "only"):]] = true
	}
}

func TestCountsAreListedBesideTheirMinimum(t *testing.T) {
	require.Equal(t, "59 writes (at least 5), 0 gets (at least 1), 3 lists",
		linearizability.Counts{Writes: 59, Lists: 3}.Against(linearizability.Counts{Writes: 5, Gets: 1}))
	require.Equal(t, "nothing", linearizability.Counts{}.Against(linearizability.Counts{}))
}
