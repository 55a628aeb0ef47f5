package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/simtest"
)

// jumbled runs a jumble with an open tape and a schedule without interruptions.
func jumbled(t *testing.T, tape []byte) *sim.Result {
	return simtest.Run(t, sim.Config{Source: sim.FromOpenTape(1, tape), Record: true, Trace: true},
		func(w *sim.World) { jumble(w) })
}

func TestAnOpenTapeGoesOnWithPlainChoices(t *testing.T) {
	plain := jumbled(t, nil)
	require.False(t, plain.Diverged)
	require.NotEmpty(t, plain.Tape)
	require.Empty(t, sim.Trimmed(plain.Tape), "every choice is plain")
	require.Equal(t, sim.Forced{}, plain.Trace.Forced(sim.Schedule{}))

	// The same in full, and after a longer tape than its own.
	full := simtest.Run(t, sim.Config{Source: sim.FromTape(1, plain.Tape)}, func(w *sim.World) { jumble(w) })
	require.Equal(t, plain.Hash, full.Hash)
	ones := make([]byte, 2*len(plain.Tape))
	for i := range ones {
		ones[i] = 1
	}
	require.NotEqual(t, plain.Hash, jumbled(t, ones).Hash)
	require.Equal(t, plain.Hash, jumbled(t, nil).Hash)
}

func TestForcedCountsWhatATapeHolds(t *testing.T) {
	tape := make([]byte, 12)
	tape[4], tape[11] = 1, 1
	result := jumbled(t, tape)
	require.False(t, result.Diverged)
	require.Equal(t, tape, sim.Trimmed(result.Tape))
	require.Equal(t, sim.Forced{Switches: 2}, result.Trace.Forced(sim.Schedule{}))
}

func TestForcedCountsYieldsAndStalls(t *testing.T) {
	for _, schedule := range []sim.Schedule{
		{YieldEvery: 15}, {YieldEvery: 12, StallOneIn: 4}, {YieldEvery: 17, StallOneIn: 1}, {YieldEvery: 300, StallOneIn: 4, FocusOneIn: 2},
	} {
		result := simtest.Run(t, sim.Config{Source: sim.FromSeed(3), Schedule: schedule, Trace: true},
			func(w *sim.World) { jumble(w) })
		forced := result.Trace.Forced(schedule)
		require.EqualValues(t, result.Stalls, forced.Stalls, "%v", schedule)
		require.Greater(t, forced.Switches, int(result.Yields), "picks come on top; %v", schedule)
		require.Less(t, forced.Switches, int(result.Decisions))
	}
}
