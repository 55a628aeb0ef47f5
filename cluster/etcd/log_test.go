package etcd

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// logOf returns a log with one entry for each term.
func logOf(commit uint64, terms ...uint64) MemberLog {
	log := MemberLog{Commit: commit}
	for i, term := range terms {
		log.Entries = append(log.Entries, LogEntry{Index: uint64(i + 1), Term: term})
	}
	return log
}

func TestSettled(t *testing.T) {
	for name, row := range map[string]struct {
		logs []MemberLog
		want int
	}{
		"one member, all of it":            {[]MemberLog{logOf(1, 1, 1, 1)}, 3},
		"no entries":                       {[]MemberLog{logOf(0), logOf(0), logOf(0)}, 0},
		"all the same":                     {[]MemberLog{logOf(2, 1, 1), logOf(1, 1, 1), logOf(0, 1, 1)}, 2},
		"half is no majority":              {[]MemberLog{logOf(1, 1, 1), logOf(1, 1)}, 1},
		"a minority's tail is open":        {[]MemberLog{logOf(1, 1, 1, 1), logOf(1, 1), logOf(1, 1)}, 1},
		"a majority's tail is not":         {[]MemberLog{logOf(1, 1, 1, 1), logOf(1, 1, 1), logOf(1, 1)}, 2},
		"an old leader's tail is void":     {[]MemberLog{logOf(1, 1, 1, 1, 1), logOf(1, 1, 2), logOf(1, 1, 2)}, 2},
		"a new leader alone, tail is open": {[]MemberLog{logOf(1, 1, 2), logOf(1, 1), logOf(1, 1)}, 1},
	} {
		entries, err := settled(row.logs)
		require.NoError(t, err, name)
		require.Len(t, entries, row.want, name)
	}
}

// afterSnapshot removes the first entries of a log, as if they had come as a snapshot.
func afterSnapshot(index uint64, log MemberLog) MemberLog {
	log.Snapshot, log.SnapshotTerm = index, log.term(index)
	log.Entries = log.Entries[index:]
	log.Commit = max(log.Commit, index)
	return log
}

func TestSettledWithSnapshots(t *testing.T) {
	full := logOf(3, 1, 1, 2, 2)
	for name, row := range map[string]struct {
		logs []MemberLog
		want int
	}{
		"a follower was sent one":            {[]MemberLog{full, logOf(3, 1, 1, 2, 2), afterSnapshot(2, full)}, 4},
		"and nothing since":                  {[]MemberLog{full, logOf(3, 1, 1, 2), afterSnapshot(3, logOf(3, 1, 1, 2))}, 3},
		"its snapshot makes a majority":      {[]MemberLog{logOf(0, 1, 1, 2), logOf(0, 1), afterSnapshot(2, logOf(2, 1, 1))}, 2},
		"and it is the most advanced of all": {[]MemberLog{logOf(3, 1, 1, 2), logOf(3, 1, 1, 2), afterSnapshot(3, logOf(3, 1, 1, 2, 3))}, 3},
	} {
		entries, err := settled(row.logs)
		require.NoError(t, err, name)
		require.Len(t, entries, row.want, name)
		for i, entry := range entries {
			require.EqualValues(t, i+1, entry.Index, name)
		}
	}

	_, err := settled([]MemberLog{afterSnapshot(2, full), afterSnapshot(2, full), logOf(0, 1)})
	require.ErrorContains(t, err, "no other log goes from the beginning to there")
	other := logOf(4, 1, 1, 2, 2)
	other.Entries[3].Data = []byte("other")
	_, err = settled([]MemberLog{full, afterSnapshot(2, other), full})
	require.ErrorContains(t, err, "disagree on committed entry 4")
	_, err = settled([]MemberLog{full, full, afterSnapshot(3, logOf(3, 1, 1, 3, 3))})
	require.ErrorContains(t, err, "begins after a snapshot", "of a history that no other member knows")
}

func TestSettledNoticesDisagreement(t *testing.T) {
	_, err := settled([]MemberLog{logOf(2, 1, 2), logOf(2, 1, 2), logOf(2, 1, 1)})
	require.ErrorContains(t, err, "disagree on committed entry 2")

	_, err = settled([]MemberLog{logOf(2, 1, 1), logOf(0, 1), logOf(0, 1)})
	require.ErrorContains(t, err, "no majority")

	other := logOf(2, 1, 1)
	other.Entries[1].Data = []byte("other")
	_, err = settled([]MemberLog{logOf(2, 1, 1), other})
	require.ErrorContains(t, err, "disagree on committed entry 2")
}
