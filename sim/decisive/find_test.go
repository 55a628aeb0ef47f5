package decisive

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim/shrink"
)

func TestDecisionsThatMatterAreFound(t *testing.T) {
	// The fourth decision, of 256, takes five bytes.
	tape := []byte{0, 3, 0, 255, 0, 1, 0, 0, 0, 7, 0, 0, 1}
	broken := func(c shrink.Case) bool {
		return len(c.Tape) > 9 && c.Tape[3] == 255 && c.Tape[5] == 1 && c.Tape[9] == 7
	}
	for _, workers := range []int{1, 3} {
		found, err := Find(t.Context(), Config{Workers: workers, Try: func(_ context.Context, c shrink.Case, _ bool) (shrink.Outcome, error) {
			return shrink.Outcome{Broken: broken(c)}, nil
		}}, shrink.Case{Tape: tape})
		require.NoError(t, err)
		require.Equal(t, Found{Numbers: []uint64{4, 6}, Choices: 4, Tried: 4}, found)
	}
}

func TestATapeWithoutChoicesNeedsNone(t *testing.T) {
	found, err := Find(t.Context(), Config{Workers: 1}, shrink.Case{Tape: []byte{0, 0}})
	require.NoError(t, err)
	require.Equal(t, Found{}, found)
}

func TestOnlySoManyChoicesAreTried(t *testing.T) {
	tape := make([]byte, 2*TriedMost)
	for i := range tape {
		tape[i] = 1
	}
	found, err := Find(t.Context(), Config{Workers: 2, Try: func(_ context.Context, c shrink.Case, _ bool) (shrink.Outcome, error) {
		return shrink.Outcome{Broken: c.Tape[0] == 1 && c.Tape[len(tape)-1] == 1}, nil
	}}, shrink.Case{Tape: tape})
	require.NoError(t, err)
	require.Equal(t, Found{Numbers: []uint64{2 * TriedMost}, Choices: 2 * TriedMost, Tried: TriedMost}, found)
}

func TestAFailureOfTheMachineEndsTheSearch(t *testing.T) {
	full := errors.New("no space left on device")
	_, err := Find(t.Context(), Config{Workers: 2, Try: func(context.Context, shrink.Case, bool) (shrink.Outcome, error) {
		return shrink.Outcome{}, full
	}}, shrink.Case{Tape: []byte{1, 1, 1, 1, 1}})
	require.ErrorIs(t, err, full)
}

func TestTheBudgetEndsTheSearch(t *testing.T) {
	found, err := Find(t.Context(), Config{Workers: 1, Budget: time.Millisecond, Try: func(ctx context.Context, _ shrink.Case, _ bool) (shrink.Outcome, error) {
		<-ctx.Done()
		return shrink.Outcome{}, ctx.Err()
	}}, shrink.Case{Tape: []byte{1, 1}})
	require.NoError(t, err)
	require.Equal(t, Found{Choices: 2}, found)
}
