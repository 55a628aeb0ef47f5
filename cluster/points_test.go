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
			_, done := passing(t.Context(), p, other.process, other.point)()
			require.True(t, done, "%v is not the second list of apiserver-0", other)
			require.False(t, reached(stop))
		}

		second := passing(t.Context(), p, "apiserver-0", faults.PointList)
		_, done := second()
		require.False(t, done)
		require.True(t, reached(stop))
		third := passing(t.Context(), p, "apiserver-0", faults.PointList)
		_, done = third()
		require.True(t, done, "only one arrival is waited for")

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
		_, done = watch()
		require.False(t, done)
		cancel()
		_, done = watch()
		require.True(t, done, "an operation whose context ends goes on")
	})
}

func TestAReleasedPointStopsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &points{}
		stop := p.arm(faults.PointList, "apiserver-0", 1)
		stop.Release()
		_, done := passing(t.Context(), p, "apiserver-0", faults.PointList)()
		require.True(t, done)
		require.False(t, reached(stop))
	})
}

func TestTwoFaultsMayWaitForOneArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &points{}
		one, other := p.arm(faults.PointList, "apiserver-0", 1), p.arm(faults.PointList, "apiserver-0", 1)
		list := passing(t.Context(), p, "apiserver-0", faults.PointList)
		_, done := list()
		require.False(t, done)
		require.True(t, reached(one))
		require.True(t, reached(other))
		other.Release()
		_, done = list()
		require.False(t, done)
		one.Release()
		_, done = list()
		require.True(t, done)
	})
}
