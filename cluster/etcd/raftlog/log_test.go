package raftlog

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// logOf returns a log with one entry for each term.
func logOf(commit uint64, terms ...uint64) Log {
	log := Log{Commit: commit}
	for i, term := range terms {
		log.Entries = append(log.Entries, Entry{Index: uint64(i + 1), Term: term})
	}
	return log
}

func TestSettled(t *testing.T) {
	for name, row := range map[string]struct {
		logs []Log
		want int
	}{
		"one member, all of it":            {[]Log{logOf(1, 1, 1, 1)}, 3},
		"no entries":                       {[]Log{logOf(0), logOf(0), logOf(0)}, 0},
		"all the same":                     {[]Log{logOf(2, 1, 1), logOf(1, 1, 1), logOf(0, 1, 1)}, 2},
		"half is no majority":              {[]Log{logOf(1, 1, 1), logOf(1, 1)}, 1},
		"a minority's tail is open":        {[]Log{logOf(1, 1, 1, 1), logOf(1, 1), logOf(1, 1)}, 1},
		"a majority's tail is not":         {[]Log{logOf(1, 1, 1, 1), logOf(1, 1, 1), logOf(1, 1)}, 2},
		"an old leader's tail is void":     {[]Log{logOf(1, 1, 1, 1, 1), logOf(1, 1, 2), logOf(1, 1, 2)}, 2},
		"a new leader alone, tail is open": {[]Log{logOf(1, 1, 2), logOf(1, 1), logOf(1, 1)}, 1},
	} {
		entries, err := Settled(row.logs)
		require.NoError(t, err, name)
		require.Len(t, entries, row.want, name)
	}
}

// after removes the first entries of a log, as if they had come as a snapshot.
func after(index uint64, log Log) Log {
	log.Snapshot, log.SnapshotTerm = index, log.term(index)
	log.Entries = log.Entries[index:]
	log.Commit = max(log.Commit, index)
	return log
}

func TestSettledWithSnapshots(t *testing.T) {
	full := logOf(3, 1, 1, 2, 2)
	for name, row := range map[string]struct {
		logs []Log
		want int
	}{
		"a follower was sent one":            {[]Log{full, logOf(3, 1, 1, 2, 2), after(2, full)}, 4},
		"and nothing since":                  {[]Log{full, logOf(3, 1, 1, 2), after(3, logOf(3, 1, 1, 2))}, 3},
		"its snapshot makes a majority":      {[]Log{logOf(0, 1, 1, 2), logOf(0, 1), after(2, logOf(2, 1, 1))}, 2},
		"and it is the most advanced of all": {[]Log{logOf(3, 1, 1, 2), logOf(3, 1, 1, 2), after(3, logOf(3, 1, 1, 2, 3))}, 3},
	} {
		entries, err := Settled(row.logs)
		require.NoError(t, err, name)
		require.Len(t, entries, row.want, name)
		for i, entry := range entries {
			require.EqualValues(t, i+1, entry.Index, name)
		}
	}

	_, err := Settled([]Log{after(2, full), after(2, full), logOf(0, 1)})
	require.ErrorContains(t, err, "no other log goes from the beginning to there")
	other := logOf(4, 1, 1, 2, 2)
	other.Entries[3].Data = []byte("other")
	_, err = Settled([]Log{full, after(2, other), full})
	require.ErrorContains(t, err, "disagree on committed entry 4")
	_, err = Settled([]Log{full, full, after(3, logOf(3, 1, 1, 3, 3))})
	require.ErrorContains(t, err, "begins after a snapshot", "of a history that no other member knows")
}

func TestSettledNoticesDisagreement(t *testing.T) {
	_, err := Settled([]Log{logOf(2, 1, 2), logOf(2, 1, 2), logOf(2, 1, 1)})
	require.ErrorContains(t, err, "disagree on committed entry 2")

	_, err = Settled([]Log{logOf(2, 1, 1), logOf(0, 1), logOf(0, 1)})
	require.ErrorContains(t, err, "no majority")

	other := logOf(2, 1, 1)
	other.Entries[1].Data = []byte("other")
	_, err = Settled([]Log{logOf(2, 1, 1), other})
	require.ErrorContains(t, err, "disagree on committed entry 2")
}
