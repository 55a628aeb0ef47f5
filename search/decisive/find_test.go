package decisive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/shrink"
	"github.com/watchsim/watchsim/sim"
)

// each runs candidates; broken says which of them fail.
func each(broken func(shrink.Case) bool) shrink.Try {
	return func(_ context.Context, candidates []shrink.Case, _ bool) (outcomes []shrink.Outcome, err error) {
		for _, c := range candidates {
			outcomes = append(outcomes, shrink.Outcome{Broken: broken(c)})
		}
		return outcomes, nil
	}
}

// find finds the decisions of a tape; broken says which tapes fail.
func find(t *testing.T, tape []byte, config Config, broken func(tape []byte) bool) (Found, []byte) {
	t.Helper()
	config.Try = each(func(c shrink.Case) bool { return broken(c.Tape) })
	if config.Workers == 0 {
		config.Workers = 3
	}
	if config.IsLength == nil {
		config.IsLength = func(uint64) bool { return false }
	}
	found, calmer, err := Find(t.Context(), config, shrink.Case{Tape: tape})
	require.NoError(t, err)
	return found, calmer.Tape
}

func TestDecisionsThatMatterAreFound(t *testing.T) {
	// The fourth decision, of 256, takes five bytes.
	tape := []byte{0, 3, 0, 255, 0, 1, 0, 0, 0, 7, 0, 0, 1}
	broken := func(tape []byte) bool {
		return len(tape) > 9 && tape[3] == 255 && tape[5] == 1 && tape[9] == 7
	}
	for _, workers := range []int{1, 3} {
		found, calmer := find(t, tape, Config{Workers: workers}, broken)
		require.Equal(t, []uint64{4, 6}, found.Numbers)
		require.Equal(t, uint64(6), found.Last)
		require.Equal(t, 4, found.Choices)
		require.Equal(t, 2, found.Singly)
		require.Equal(t, tape[:10], calmer, "nothing is chosen after the last that matters")
	}
}

// The last decision that matters is found in a run with thousands of deviations, nearly each of
// which changes everything after it.
func TestTheLastOfManyDecisionsIsFound(t *testing.T) {
	const needed, shows = 4321, 6000
	tape := bytes.Repeat([]byte{1}, 10_000)
	found, calmer := find(t, tape, Config{Shows: shows}, func(tape []byte) bool { return len(tape) >= needed })
	require.Equal(t, uint64(needed), found.Last)
	require.Equal(t, []uint64{needed}, found.Numbers)
	require.Equal(t, shows, found.Choices, "what comes after the violation is no choice of its own")
	require.Zero(t, found.Singly, "there are too many to try each by itself")
	require.Less(t, found.Tried, 40)
	require.Len(t, calmer, needed)
}

// Where a failure comes and goes, the place closest to the violation is reported.
func TestThePlaceClosestToTheViolationIsFound(t *testing.T) {
	tape := bytes.Repeat([]byte{1}, 64)
	found, _ := find(t, tape, Config{}, func(tape []byte) bool { return len(tape) >= 40 || (len(tape) > 3 && len(tape) < 20) })
	require.Equal(t, uint64(40), found.Last)
}

func TestAViolationThatNeedsWhatComesAfterItShows(t *testing.T) {
	tape := []byte{1, 1, 1, 1, 1, 1}
	found, _ := find(t, tape, Config{Shows: 3}, func(tape []byte) bool { return len(tape) >= 5 })
	require.Equal(t, uint64(5), found.Last)
	require.Equal(t, 6, found.Choices)
}

func TestTheShortestStallThatIsEnoughIsFound(t *testing.T) {
	for _, least := range []uint32{1, 77, 255} {
		tape := []byte{2, 1, 255, 255, 0, 0, 0, 3}
		isLength := func(number uint64) bool { return number == 3 }
		found, calmer := find(t, tape, Config{IsLength: isLength}, func(tape []byte) bool {
			choices := chosen(tape)
			return len(choices) > 2 && choices[2].value(tape) >= least
		})
		require.Equal(t, uint64(3), found.Last)
		require.Equal(t, least, found.Enough)
		require.Equal(t, least-1, found.TooShort)
		require.Equal(t, least, chosen(calmer)[2].value(calmer), "the run that is kept has the shortest one")
	}
}

func TestATapeWithoutChoicesNeedsNone(t *testing.T) {
	found, _ := find(t, []byte{0, 0}, Config{}, func([]byte) bool { return true })
	require.Zero(t, found.Last)
	require.Empty(t, found.Numbers)
	require.True(t, found.None)
}

func TestARunThatDoesNotFailIsRefused(t *testing.T) {
	_, _, err := Find(t.Context(), Config{Workers: 1, Try: each(func(shrink.Case) bool { return false })}, shrink.Case{Tape: []byte{0}})
	require.ErrorIs(t, err, shrink.ErrNotBroken)
}

func TestAFailureOfTheMachineEndsTheSearch(t *testing.T) {
	full := errors.New("no space left on device")
	_, _, err := Find(t.Context(), Config{Workers: 2, Try: func(context.Context, []shrink.Case, bool) ([]shrink.Outcome, error) {
		return nil, full
	}}, shrink.Case{Tape: []byte{1, 1, 1, 1, 1}})
	require.ErrorIs(t, err, full)
}

func TestASearchThatIsCutShortSaysWhatItKnows(t *testing.T) {
	tape := bytes.Repeat([]byte{1}, 100)
	rounds := 0
	try := each(func(c shrink.Case) bool { return len(c.Tape) >= 60 })
	found, calmer, err := Find(t.Context(), Config{Workers: 1, Budget: 20 * time.Millisecond, Try: func(ctx context.Context, c []shrink.Case, details bool) ([]shrink.Outcome, error) {
		if rounds++; rounds > 2 { // the two ends, and one round of probes
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return try(ctx, c, details)
	}}, shrink.Case{Tape: tape})
	require.NoError(t, err)
	require.Zero(t, found.Last)
	require.Equal(t, [2]uint64{50, 75}, [2]uint64{found.After, found.Before})
	require.Equal(t, tape, calmer.Tape)
}

func TestChoicesAreReadAndChanged(t *testing.T) {
	tape := []byte{0, 5, 255, 1, 1, 0, 0, 9}
	choices := chosen(tape)
	require.Len(t, choices, 3)
	require.Equal(t, []uint32{5, 257, 9}, []uint32{choices[0].value(tape), choices[1].value(tape), choices[2].value(tape)})
	require.Equal(t, []byte{0, 5, 254, 9}, with(tape, choices[1], 254))
	require.Equal(t, []byte{0, 255, 255, 0, 0, 0, 255, 1, 1, 0, 0, 9}, with(tape, choices[0], 255))
	require.Equal(t, tape[:7], beginning(tape, choices, 2))
	require.Equal(t, plain, beginning(tape, choices, 0))
	require.Empty(t, sim.Trimmed(plain), fmt.Sprint("it is followed by plain choices: ", plain))
}
