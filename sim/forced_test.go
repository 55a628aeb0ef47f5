package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

// jumbled runs a jumble with an open tape and a schedule without interruptions, and
// returns what the schedule forced, too.
func jumbled(t testing.TB, tape []byte) (*sim.Result, sim.Forced) {
	return traced(t, sim.FromOpenTape(1, tape), sim.Schedule{})
}

// traced runs a jumble and returns what the schedule forced, too.
func traced(t testing.TB, source sim.Source, schedule sim.Schedule) (*sim.Result, sim.Forced) {
	type both struct {
		Result *sim.Result
		Forced sim.Forced
	}
	ran := isolate.Answer(t, func(t testing.TB) both {
		result := isolate.InPlace(t, sim.Config{Source: source, Schedule: schedule, Record: true, Trace: true}, func(w *sim.World) { jumble(w) })
		forced := result.Trace.Forced()
		result.Trace = nil
		return both{result, forced}
	})
	return ran.Result, ran.Forced
}

func TestAnOpenTapeGoesOnWithPlainChoices(t *testing.T) {
	plain, forced := jumbled(t, nil)
	require.False(t, plain.Diverged)
	require.NotEmpty(t, plain.Tape)
	require.Empty(t, sim.Trimmed(plain.Tape), "every choice is plain")
	require.Equal(t, sim.Forced{}, forced)

	// The same in full, and after a longer tape than its own.
	full := isolate.Run(t, sim.Config{Source: sim.FromTape(1, plain.Tape)}, func(_ testing.TB, w *sim.World) { jumble(w) })
	require.Equal(t, plain.Hash, full.Hash)
	ones := make([]byte, 2*len(plain.Tape))
	for i := range ones {
		ones[i] = 1
	}
	other, _ := jumbled(t, ones)
	require.NotEqual(t, plain.Hash, other.Hash)
	again, _ := jumbled(t, nil)
	require.Equal(t, plain.Hash, again.Hash)
}

func TestForcedCountsWhatATapeHolds(t *testing.T) {
	tape := make([]byte, 12)
	tape[4], tape[11] = 1, 1
	result, forced := jumbled(t, tape)
	require.False(t, result.Diverged)
	require.Equal(t, tape, sim.Trimmed(result.Tape))
	require.Equal(t, sim.Forced{Switches: 2}, forced)
}

func TestForcedCountsYieldsAndStalls(t *testing.T) {
	for _, schedule := range []sim.Schedule{
		{YieldEvery: 15}, {YieldEvery: 12, StallOneIn: 4}, {YieldEvery: 17, StallOneIn: 1}, {YieldEvery: 300, StallOneIn: 4, FocusOneIn: 2},
	} {
		result, forced := traced(t, sim.FromSeed(3), schedule)
		require.EqualValues(t, result.Stalls, forced.Stalls, "%v", schedule)
		require.Greater(t, forced.Switches, int(result.Yields), "picks come on top; %v", schedule)
		require.Less(t, forced.Switches, int(result.Decisions))
	}
}
