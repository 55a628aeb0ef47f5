package explore

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// toyDoze sleeps after a section of a lock: if it is held up in between, no event tells
// when it will wake up.
//
//go:noinline
func toyDoze(mu *sync.Mutex, doze func()) func() {
	return func() {
		mu.Lock()
		mu.Unlock()
		doze()
		mu.Lock()
		mu.Unlock()
	}
}

// toyTick takes a step while the other one sleeps.
//
//go:noinline
func toyTick(c chan int) func() {
	return func() {
		time.Sleep(15 * time.Millisecond)
		c <- 0
		c <- 0
	}
}

func TestWhatIsPendingIsPartOfAState(t *testing.T) {
	sleep := func() { time.Sleep(30 * time.Millisecond) }
	timer := func() {
		fired := make(chan struct{})
		time.AfterFunc(30*time.Millisecond, func() { close(fired) })
		<-fired
	}
	noted := func() { // what time it was is seen later
		began := time.Now()
		time.Sleep(time.Until(time.Unix(0, 0).Add(time.Duration(time.Now().UnixNano())).Add(30*time.Millisecond)) - time.Since(began))
	}
	for name, doze := range map[string]func(){"a sleep": sleep, "a timer": timer, "an instant": noted} {
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

func TestWhoHasWaitedLongestIsPartOfAState(t *testing.T) {
	program := func() bool {
		gone, said := make(chan struct{}), make(chan int, 10)
		toyTogether(toyWait(gone, said, 1), toyWait(gone, said, 2), func() {
			time.Sleep(time.Second)
			close(gone)
		})
		return <-said != 1
	}
	result, strategy := exhaust(t, program, 2)
	require.Positive(t, result.Failed)
	require.Zero(t, strategy.Strays)
}
