package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestARecordHoldsChanges(t *testing.T) {
	began := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	type step struct {
		at   int
		what string
	}
	for name, row := range map[string]struct{ noted, want []step }{
		"nothing":                     {nil, nil},
		"what does not change":        {[]step{{1, "a"}, {2, "a"}, {3, "a"}}, []step{{1, "a"}}},
		"what changes":                {[]step{{1, "a"}, {2, "b"}, {3, "a"}}, []step{{1, "a"}, {2, "b"}, {3, "a"}}},
		"the end of an instant":       {[]step{{1, "a"}, {2, "b"}, {2, "c"}}, []step{{1, "a"}, {2, "c"}}},
		"an instant that changes nil": {[]step{{1, "a"}, {2, "b"}, {2, "a"}, {3, "c"}}, []step{{1, "a"}, {3, "c"}}},
		"before the beginning":        {[]step{{-9, "a"}, {-5, "b"}, {4, "c"}}, []step{{0, "b"}, {4, "c"}}},
		"at the beginning":            {[]step{{-9, "a"}, {0, "b"}}, []step{{0, "b"}}},
		"after the end":               {[]step{{1, "a"}, {10, "b"}, {11, "c"}}, []step{{1, "a"}, {10, "b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var r record[string]
			for _, step := range row.noted {
				r.note(at(step.at), step.what)
			}
			var got []step
			for _, turn := range r.between(began, at(10)) {
				got = append(got, step{int(turn.from.Sub(began) / time.Second), turn.what})
			}
			require.Equal(t, row.want, got)
		})
	}
}
