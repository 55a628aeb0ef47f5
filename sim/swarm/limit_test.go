package swarm

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestARunIsGivenUpForItsProcessorTime(t *testing.T) {
	for _, row := range []struct {
		name  string
		share float64 // of a processor
		after time.Duration
		want  string
	}{
		{"it spins", 1, time.Minute, "1m0s of processor time"},
		{"it shares the processor", 0.25, 4 * time.Minute, "1m0s of processor time"},
		{"the machine is busy", 0.01, 10 * time.Minute, "10m0s on the clock, 6s of it on a processor"},
		{"it waits for ever", 0, 10 * time.Minute, "10m0s on the clock, 0s of it on a processor"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, killed := time.Now(), make(chan time.Duration, 1)
				used := func() (time.Duration, error) {
					return time.Hour + time.Duration(row.share*float64(time.Since(began))), nil
				}
				w := watch(time.Minute, used, func() { killed <- time.Since(began) })
				require.InDelta(t, row.after, <-killed, float64(time.Millisecond))
				require.Contains(t, w.stop(), row.want)
			})
		})
	}
}

func TestAllTimeCountsWhereProcessorTimeIsNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, killed := time.Now(), make(chan time.Duration, 1)
		unknown := func() (time.Duration, error) { return 0, os.ErrInvalid }
		w := watch(time.Minute, unknown, func() { killed <- time.Since(began) })
		require.Equal(t, time.Minute, <-killed)
		require.Equal(t, "1m0s of processor time", w.stop())
	})
}

func TestARunThatEndsInTimeIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := watch(time.Minute, func() (time.Duration, error) { return time.Since(began), nil },
			func() { t.Error("it was killed") })
		time.Sleep(59 * time.Second)
		require.Empty(t, w.stop())
		time.Sleep(time.Hour)
	})
}

func TestProcessorTimeGrowsWithWork(t *testing.T) {
	before, err := processorTime(os.Getpid())
	require.NoError(t, err)
	for {
		now, err := processorTime(os.Getpid())
		require.NoError(t, err)
		if now > before {
			return
		}
	}
}
