package explore

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// toySection is a section of a lock in which nothing happens.
//
//go:noinline
func toySection(mu *sync.Mutex) {
	mu.Lock()
	defer mu.Unlock()
}

// toyDoze sleeps after a section of a lock: if it is held up in between, no event tells
// when it will wake up.
//
//go:noinline
func toyDoze(mu *sync.Mutex, doze func()) func() {
	return func() {
		toySection(mu)
		doze()
		toySection(mu)
	}
}

// toyRemember reads the clock between two sections of a lock: no event tells whether it
// was held up before that or after it.
//
//go:noinline
func toyRemember(mu *sync.Mutex) func() {
	return func() {
		toySection(mu)
		at := time.Now()
		toySection(mu)
		time.Sleep(time.Until(at.Add(30 * time.Millisecond)))
		toySection(mu)
	}
}

func TestWhatTimeItWasIsPartOfAState(t *testing.T) {
	program := func() bool {
		toyTogether(toyRemember(&sync.Mutex{}))
		return false
	}
	_, strategy := exhaust(t, program, 2, 5*time.Millisecond)
	require.Zero(t, strategy.Strays, "two runs in one state have read the clock at two instants: %+v", strategy.FirstStray)
}

// toyTick takes a step while the other one sleeps.
//
//go:noinline
func toyTick(c chan int) func() {
	return func() {
		time.Sleep(15 * time.Millisecond)
		c <- 0
		c <- 0
		time.Sleep(50 * time.Millisecond)
		c <- 0
	}
}

func TestWhatIsPendingIsPartOfAState(t *testing.T) {
	sleep := func() { time.Sleep(30 * time.Millisecond) }
	timer := func() {
		time.AfterFunc(30*time.Millisecond, func() { make(chan int, 1) <- 0 })
	}
	for name, doze := range map[string]func(){"a sleep": sleep, "a timer": timer} {
		t.Run(name, func(t *testing.T) {
			program := func() bool {
				toyTogether(toyDoze(&sync.Mutex{}, doze), toyTick(make(chan int, 10)))
				return false
			}
			_, strategy := exhaust(t, program, 2, 5*time.Millisecond)
			require.Zero(t, strategy.Strays, "two runs in one state wake up at two instants: %+v", strategy.FirstStray)
		})
	}
}

// toyWait waits for a channel to be closed, and says so.
//
//go:noinline
func toyWait(gone <-chan struct{}, said chan<- int, id int) func() {
	return func() {
		<-gone
		said <- id
	}
}

// toyClose closes a channel after a step.
//
//go:noinline
func toyClose(c chan<- int, gone chan<- struct{}) func() {
	return func() {
		time.Sleep(time.Second)
		c <- 0
		c <- 0
		close(gone)
	}
}

func TestWhoHasWaitedLongestIsPartOfAState(t *testing.T) {
	program := func() bool {
		gone, said := make(chan struct{}), make(chan int, 10)
		toyTogether(toyWait(gone, said, 1), toyWait(gone, said, 2), toyClose(make(chan int, 10), gone))
		return <-said != 1
	}
	result, strategy := exhaust(t, program, 2, 5*time.Millisecond)
	require.Positive(t, result.Failed)
	require.Zero(t, strategy.Strays)
}

// toyRaise raises a flag between two sections of a lock: no channel and no lock tells
// whether it is up, but how far the goroutine has come does.
//
//go:noinline
func toyRaise(mu *sync.Mutex, flag *atomic.Bool) func() {
	return func() {
		mu.Lock()
		flag.Store(false)
		mu.Unlock()
		flag.Store(true)
		mu.Lock()
		flag.Store(false)
		mu.Unlock()
	}
}

func TestPointsWithoutAnEventBetweenThemAreTwoPlaces(t *testing.T) {
	raised := func() bool {
		var mu sync.Mutex
		var flag atomic.Bool
		wrong := false
		toyTogether(toyRaise(&mu, &flag), func() { wrong = flag.Load() })
		return wrong
	}
	result, strategy := exhaust(t, raised, 1)
	require.Positive(t, result.Failed, "to let others go first behind the unlock is not to do so before the next lock")
	require.Zero(t, strategy.Strays)
	every := exhaustEvery(t, raised)
	require.Positive(t, every.Failed)
}
