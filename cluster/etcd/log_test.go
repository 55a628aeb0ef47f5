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

// afterSnapshot removes the first entries of a log, as if they had come as a snapshot.
func afterSnapshot(index uint64, log MemberLog) MemberLog {
	log.Snapshot, log.SnapshotTerm = index, log.term(index)
	log.Entries = log.Entries[index:]
	log.Commit = max(log.Commit, index)
	return log
}

// otherwise gives the last entry of a log other data.
func otherwise(log MemberLog) MemberLog {
	log.Entries[len(log.Entries)-1].Data = []byte("other")
	return log
}

func TestSettled(t *testing.T) {
	full := logOf(3, 1, 1, 2, 2)
	for name, row := range map[string]struct {
		logs []MemberLog
		want int
		err  string
	}{
		"one member, all of it":            {[]MemberLog{logOf(1, 1, 1, 1)}, 3, ""},
		"no entries":                       {[]MemberLog{logOf(0), logOf(0), logOf(0)}, 0, ""},
		"all the same":                     {[]MemberLog{logOf(2, 1, 1), logOf(1, 1, 1), logOf(0, 1, 1)}, 2, ""},
		"half is no majority":              {[]MemberLog{logOf(1, 1, 1), logOf(1, 1)}, 1, ""},
		"a minority's tail is open":        {[]MemberLog{logOf(1, 1, 1, 1), logOf(1, 1), logOf(1, 1)}, 1, ""},
		"a majority's tail is not":         {[]MemberLog{logOf(1, 1, 1, 1), logOf(1, 1, 1), logOf(1, 1)}, 2, ""},
		"an old leader's tail is void":     {[]MemberLog{logOf(1, 1, 1, 1, 1), logOf(1, 1, 2), logOf(1, 1, 2)}, 2, ""},
		"a new leader alone, tail is open": {[]MemberLog{logOf(1, 1, 2), logOf(1, 1), logOf(1, 1)}, 1, ""},

		"a follower was sent a snapshot":             {[]MemberLog{full, logOf(3, 1, 1, 2, 2), afterSnapshot(2, full)}, 4, ""},
		"a follower was sent one, and nothing since": {[]MemberLog{full, logOf(3, 1, 1, 2), afterSnapshot(3, logOf(3, 1, 1, 2))}, 3, ""},
		"a snapshot makes a majority":                {[]MemberLog{logOf(0, 1, 1, 2), logOf(0, 1), afterSnapshot(2, logOf(2, 1, 1))}, 2, ""},
		"the log after one is the most advanced":     {[]MemberLog{logOf(3, 1, 1, 2), logOf(3, 1, 1, 2), afterSnapshot(3, logOf(3, 1, 1, 2, 3))}, 3, ""},
		"nobody has what came before a snapshot":     {[]MemberLog{afterSnapshot(2, full), afterSnapshot(2, full), logOf(0, 1)}, 0, "no other log goes from the beginning to there"},
		"a snapshot of a history that nobody has":    {[]MemberLog{full, full, afterSnapshot(3, logOf(3, 1, 1, 3, 3))}, 0, "begins after a snapshot"},
		"other data after a snapshot":                {[]MemberLog{full, afterSnapshot(2, otherwise(logOf(4, 1, 1, 2, 2))), full}, 0, "disagree on committed entry 4"},
		"other data":                                 {[]MemberLog{logOf(2, 1, 1), otherwise(logOf(2, 1, 1))}, 0, "disagree on committed entry 2"},
		"another term":                               {[]MemberLog{logOf(2, 1, 2), logOf(2, 1, 2), logOf(2, 1, 1)}, 0, "disagree on committed entry 2"},
		"a committed entry that no majority has":     {[]MemberLog{logOf(2, 1, 1), logOf(0, 1), logOf(0, 1)}, 0, "no majority"},
	} {
		entries, err := settled(row.logs)
		if row.err != "" {
			require.ErrorContains(t, err, row.err, name)
			continue
		}
		require.NoError(t, err, name)
		require.Len(t, entries, row.want, name)
		for i, entry := range entries {
			require.EqualValues(t, i+1, entry.Index, name)
		}
	}
}
