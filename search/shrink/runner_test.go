package shrink

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
)

func TestTapesDivergeAtTheirFirstOtherChoice(t *testing.T) {
	long := append(bytes.Repeat([]byte{3}, 20), 255, 1, 2, 0, 0, 7, 0, 0)
	with := func(at int, b byte) []byte {
		changed := bytes.Clone(long)
		changed[at] = b
		return changed
	}
	for name, row := range map[string]struct {
		tape []byte
		want uint64
	}{
		"at once":                     {[]byte{0}, 0},
		"a choice":                    {with(15, 4), 15 - early},
		"inside of a long choice":     {with(22, 3), 20 - early},
		"after a long choice":         {with(25, 8), 21 - early},
		"plain where the other ended": {append(bytes.Clone(long), 0, 0, 1), 26 - early},
		"nowhere":                     {bytes.TrimRight(long, "\x00"), 0},
	} {
		require.EqualValues(t, row.want, divergesAt(row.tape, long), name)
		require.EqualValues(t, row.want, divergesAt(long, row.tape), name)
	}
}

func TestCandidatesWithOtherTapesAloneShareARun(t *testing.T) {
	one, other := scenario.Spec{Seed: 1}, scenario.Spec{Seed: 2}
	cases := []Case{{one, []byte{1}}, {one, []byte{2}}, {other, []byte{2}}, {other, []byte{2}}, {other, []byte{3}}}
	require.Equal(t, [][]int{{0, 1}, {2}, {3, 4}}, sharing(cases))
	require.Len(t, sharing(make([]Case, 3)), 3, "the same one is no other tape")
}
