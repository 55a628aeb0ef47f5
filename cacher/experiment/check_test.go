package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCompare(t *testing.T) {
	committed := []int64{3, 4, 5, 7, 9} // revisions of other keys lie between
	for _, row := range []struct {
		name           string
		received       []int64
		missing, wrong int
	}{
		{"everything", []int64{3, 4, 5, 7, 9}, 0, 0},
		{"nothing", nil, 5, 0},
		{"a beginning", []int64{3, 4, 5}, 2, 0},
		{"an end", []int64{7, 9}, 3, 0},
		{"a gap", []int64{3, 4, 7, 9}, 1, 0},
		{"twice", []int64{3, 4, 4, 5, 7, 9}, 0, 1},
		{"all over again", []int64{3, 4, 5, 7, 9, 3, 4, 5, 7, 9}, 0, 5},
		{"exchanged", []int64{3, 5, 4, 7, 9}, 1, 1},
		{"of nobody", []int64{3, 4, 5, 6, 7, 9}, 0, 1},
	} {
		var receipts []receipt
		for _, revision := range row.received {
			receipts = append(receipts, receipt{revision: revision})
		}
		missing, wrong := compare(committed, receipts)
		require.Equal(t, row.missing, missing, "missing of %s", row.name)
		require.Equal(t, row.wrong, wrong, "wrong of %s", row.name)
	}
}

// TestLatencyIsOfWritesAlone: initial events were written before anybody watched.
func TestLatencyIsOfWritesAlone(t *testing.T) {
	const ms = time.Millisecond
	writes := []write{{revision: 3, sent: 10 * ms, done: 12 * ms}, {revision: 4, sent: 20 * ms, done: 29 * ms}}
	complete := &client{receipts: []receipt{{2, 1 * ms}, {3, 13 * ms}, {4, 21 * ms}}}
	cut := &client{receipts: []receipt{{2, 1 * ms}, {3, 15 * ms}}, ended: true}
	found, latencies := check([]int64{2}, writes, []*client{complete, cut})
	require.Equal(t, delivery{Expected: 6, Missing: 1, Ended: 1}, found)
	require.Equal(t, []time.Duration{1 * ms, 3 * ms, 5 * ms}, latencies)
	require.Equal(t, []time.Duration{2 * ms, 9 * ms}, acknowledgements(writes))
}

func TestQuantile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, row := range []struct {
		sorted []time.Duration
		share  float64
		want   time.Duration
	}{
		{nil, 0.5, 0},
		{[]time.Duration{7}, 0.5, 7}, {[]time.Duration{7}, 0.99, 7}, {[]time.Duration{7}, 0, 7},
		{[]time.Duration{1, 2}, 0.5, 1}, {[]time.Duration{1, 2, 3}, 0.5, 2},
		{hundred, 0.5, 50}, {hundred, 0.99, 99}, {hundred, 1, 100},
	} {
		require.Equal(t, row.want, quantile(row.sorted, row.share), "%v of %d", row.share, len(row.sorted))
	}
}
