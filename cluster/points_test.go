package cluster

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/faults"
)

// passing starts an operation that passes a point, and returns how long it took.
func passing(ctx context.Context, p *points, process, point string) (took func() (time.Duration, bool)) {
	began, ended := time.Now(), make(chan time.Time, 1)
	go func() {
		p.pass(ctx, process, point)
		ended <- time.Now()
	}()
	return func() (time.Duration, bool) {
		synctest.Wait()
		select {
		case end := <-ended:
			return end.Sub(began), true
		default:
			return 0, false
		}
	}
}

// waits reports whether an operation still waits at its point.
func waits(took func() (time.Duration, bool)) bool {
	_, done := took()
	return !done
}

func reached(s faults.Gate) bool {
	select {
	case <-s.Reached():
		return true
	default:
		return false
	}
}

func TestAnOperationStopsAtItsPointUntilItIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &points{}
		stop := p.arm(faults.PointList, "apiserver-0", 2)
		for _, other := range []struct{ process, point string }{
			{"apiserver-0", faults.PointWatch}, {"apiserver-1", faults.PointList}, {"apiserver-0", faults.PointList},
		} {
			require.False(t, waits(passing(t.Context(), p, other.process, other.point)), "%v is not the second list of apiserver-0", other)
			require.False(t, reached(stop))
		}

		second := passing(t.Context(), p, "apiserver-0", faults.PointList)
		require.True(t, waits(second))
		require.True(t, reached(stop))
		require.False(t, waits(passing(t.Context(), p, "apiserver-0", faults.PointList)), "only one arrival is waited for")

		stop.Release()
		stop.Release()
		took, done := second()
		require.True(t, done)
		require.Zero(t, took)
		require.Empty(t, p.armed)
	})
}

func TestAnOperationIsNotHeldForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &points{}
		p.arm(faults.PointList, "apiserver-0", 1)
		list := passing(t.Context(), p, "apiserver-0", faults.PointList)
		time.Sleep(faults.MaxGateWait)
		took, done := list()
		require.True(t, done)
		require.Equal(t, faults.MaxGateWait, took)

		p.arm(faults.PointWatch, "apiserver-0", 1)
		ctx, cancel := context.WithCancel(t.Context())
		watch := passing(ctx, p, "apiserver-0", faults.PointWatch)
		require.True(t, waits(watch))
		cancel()
		require.False(t, waits(watch), "an operation whose context ends goes on")
	})
}

func TestAReleasedPointStopsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &points{}
		stop := p.arm(faults.PointList, "apiserver-0", 1)
		stop.Release()
		require.False(t, waits(passing(t.Context(), p, "apiserver-0", faults.PointList)))
		require.False(t, reached(stop))
	})
}

func TestTwoFaultsMayWaitForOneArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &points{}
		one, other := p.arm(faults.PointList, "apiserver-0", 1), p.arm(faults.PointList, "apiserver-0", 1)
		list := passing(t.Context(), p, "apiserver-0", faults.PointList)
		require.True(t, waits(list))
		require.True(t, reached(one))
		require.True(t, reached(other))
		other.Release()
		require.True(t, waits(list))
		one.Release()
		require.False(t, waits(list))
	})
}
