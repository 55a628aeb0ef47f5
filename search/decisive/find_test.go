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

func TestTheLastDecisionThatMattersIsFound(t *testing.T) {
	tapeOf := func(choices int) []byte { return bytes.Repeat([]byte{1}, choices) }
	from := func(needed int) func([]byte) bool { return func(tape []byte) bool { return len(tape) >= needed } }
	for name, row := range map[string]struct {
		tape   []byte
		shows  uint64
		broken func([]byte) bool
		want   Found
		tried  int // at most
	}{
		// Nearly each changes everything after it. There are too many to try each by itself, and what comes
		// after the violation is no choice of its own.
		"one of thousands": {tapeOf(10_000), 6000, from(4321), Found{Last: 4321, Numbers: []uint64{4321}, Choices: 6000}, 40},
		"the closest to the violation, where a failure comes and goes": {tapeOf(64), 0,
			func(tape []byte) bool { return len(tape) >= 40 || (len(tape) > 3 && len(tape) < 20) },
			Found{Last: 40, Numbers: []uint64{40}, Choices: 64, Singly: 39}, 64},
		"one after the violation shows": {tapeOf(6), 3, from(5), Found{Last: 5, Numbers: []uint64{5}, Choices: 6, Singly: 4}, 12},
		"none":                          {[]byte{0, 0}, 0, from(0), Found{None: true}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			found, calmer := find(t, row.tape, Config{Shows: row.shows}, row.broken)
			require.LessOrEqual(t, found.Tried, row.tried)
			if row.want.Last > 0 {
				require.Len(t, calmer, int(row.want.Last))
			}
			row.want.Tried = found.Tried
			require.Equal(t, row.want, found)
		})
	}
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
