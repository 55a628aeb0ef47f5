package swarm

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/fork"
)

func TestWhatACopyHasReachedTheNextOneKnows(t *testing.T) {
	ends, err := newEnds()
	require.NoError(t, err)
	last := uint64(len(ends.states) - 1)
	choices := []sim.Choice{{Kind: sim.KindPoint, Alternatives: 3, State: 5}, {Kind: sim.KindPick, Alternatives: 3, State: 5}}
	copied, err := fork.Now(fork.DefaultLimits)
	require.NoError(t, err)
	if copied.Inside() {
		ends.add(ended{})
		run := ends.add(ended{state: 1, shape: 2, end: 3})
		ends.through(choices[:1], run)
		if ends.reach(last-1, run) && ends.reach(2*last-1, run) && !ends.reach(last-1, 0) { // which are for one entry
			copied.Leave([]byte("new"))
		}
		unix.Exit(1)
	}
	ended, err := copied.Wait(nil)
	require.NoError(t, err)
	require.Equal(t, "new", string(ended.Answer), "%s", ended.Output)
	for _, key := range []uint64{sim.KeyOf(choices[0], 0), last - 1, 2*last - 1} {
		require.False(t, ends.reach(key, 0))
		require.Equal(t, uint64(3), ends.runs[ends.at(key).run].end)
	}
	require.Zero(t, ends.at(sim.KeyOf(choices[1], 0)).key, "another choice in the same state")
	require.Equal(t, known{3, 2}, ends.states[0])

	ends.states[0].key = statesMax
	require.True(t, ends.reach(7, 0))
	require.True(t, ends.reach(7, 0), "there is no room for it")
}

// TestADeathIsAViolationWithFields follows a worker's report of a copy's death to the verdict.
func TestADeathIsAViolationWithFields(t *testing.T) {
	_, err := Reply{Cause: fork.Panicked, Died: "it panicked, with exit status 2: panic: no state\n\ngoroutine 7 [running]:\n" +
		"panic({0x1, 0x2})\n\t/usr/local/go/panic.go:1\nexample.com/cache.(*Cache).list(0xc0007)\n\t/src/cache.go:9"}.Read(11)
	require.ErrorIs(t, err, ErrDied)
	v := unfinished(err)
	require.Equal(t, []string{scenario.Completed, "panicked", "example.com/cache.(*Cache).list"}, []string{v.Guarantee, v.Code, v.Subject})
	require.Equal(t, "the run ended its process: seed 11: it panicked, with exit status 2: panic: no state", v.Sentence)

	_, err = Reply{Cause: fork.TookTooLong, Died: "it took longer than 2m0s on the clock"}.Read(3)
	require.Equal(t, "took-too-long", unfinished(err).Code)
	require.Empty(t, unfinished(err).Subject)
}
