package cacher

import (
	"fmt"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// sustainedFor is how long a sustained load lasts.
const sustainedFor = time.Second

// BenchmarkSustained measures how many deliveries a second a cache sustains to watches of
// everything. The consumers control the load: at most a window of events is in flight that not
// every watch has received. Kubernetes' cache buffers 20 events for each watch here, ten before its
// filter and ten after, and may close a watch that lags further behind; the number of closed
// watches is reported. The window at which a cache is best and closes none is the one to compare.
// CPU time per delivery and the number of cores used are reported, too, because the ratio depends
// on the load of the machine: docs/cacher-benchmarks.md says how.
func BenchmarkSustained(b *testing.B) {
	for _, window := range []int{1, 10, 20, 100} {
		b.Run(fmt.Sprintf("window=%d", window), func(b *testing.B) {
			eachCache(b, func(b *testing.B, cache cacheUnderTest) { sustain(b, cache, window) })
		})
	}
}

func sustain(b *testing.B, cache cacheUnderTest, window int) {
	store := newBenchStore()
	watches := openWatches(b, cache.start(b, podConfig(store)), everything)
	// Half a window is sent when all watches have received the half before the last.
	batch := max(1, window/2)
	ahead := window / batch
	received := newReceipts(ahead)
	readers := consume(watches, func(_, event int) bool {
		if (event+1)%batch == 0 {
			received.add(event / batch)
		}
		return true
	})
	batches, outstanding := 0, 0
	start, before := time.Now(), processorTime(b)
	for time.Since(start) < sustainedFor*time.Duration(b.N) && readers.closed.Load() == 0 {
		for range batch {
			store.change()
		}
		if outstanding++; outstanding == ahead {
			select {
			case <-received.all:
				batches, outstanding = batches+1, outstanding-1
			case <-readers.lost:
			case <-time.After(patience):
				b.Fatalf("expected %d watches to receive events within %v, found that they did not", watchCount, patience)
			}
		}
	}
	elapsed, used := time.Since(start), processorTime(b)-before
	deliveries := float64(batches * batch * watchCount)
	b.ReportMetric(deliveries/elapsed.Seconds(), "deliveries/s")
	b.ReportMetric(float64(used)/max(deliveries, 1), "cpu-ns/delivery")
	b.ReportMetric(used.Seconds()/elapsed.Seconds(), "cores")
	b.ReportMetric(float64(readers.closed.Load()), "closed")
	b.ReportMetric(0, "ns/op")
}

// processorTime returns the processor time of the process.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// receipts reports when all watches have received a batch of events.
type receipts struct {
	counts []atomic.Int64 // of the batches on their way, by number modulo length
	all    chan struct{}  // gets one for each batch that all have received
}

// newReceipts is for at most so many batches on their way.
func newReceipts(batches int) *receipts {
	return &receipts{counts: make([]atomic.Int64, batches), all: make(chan struct{}, batches)}
}

func (r *receipts) add(batch int) {
	count := &r.counts[batch%len(r.counts)]
	if count.Add(1) == watchCount {
		count.Store(0)
		r.all <- struct{}{}
	}
}

// BenchmarkBurst sends a burst, as fast as the store can, to watches of everything that read as
// fast as they can. It measures how long it takes until each watch has everything or is closed, and
// how many are closed.
func BenchmarkBurst(b *testing.B) {
	for _, size := range []int{300, 3000} {
		b.Run(fmt.Sprintf("events=%d", size), func(b *testing.B) {
			eachCache(b, func(b *testing.B, cache cacheUnderTest) {
				var closed int64
				for range b.N {
					b.StopTimer()
					store := newBenchStore()
					watches := openWatches(b, cache.start(b, podConfig(store)), everything)
					readers := consume(watches, func(_, event int) bool { return event+1 < size })
					b.StartTimer()
					for range size {
						store.change()
					}
					readers.Wait()
					closed += readers.closed.Load()
				}
				b.ReportMetric(float64(closed)/float64(b.N), "closed")
			})
		})
	}
}

const (
	pacedEvents = 60
	pacedPeriod = 50 * time.Millisecond // 20 events a second
)

// BenchmarkLatency sends a slow and steady load to watches of everything. It measures
// how long an event takes from the store to a consumer, over all events and consumers,
// and how many watches are closed.
func BenchmarkLatency(b *testing.B) {
	eachCache(b, func(b *testing.B, cache cacheUnderTest) {
		store := newBenchStore()
		watches := openWatches(b, cache.start(b, podConfig(store)), everything)
		sent := make([]time.Time, pacedEvents*b.N)
		took := make([]time.Duration, len(sent)*watchCount)
		readers := consume(watches, func(watch, event int) bool {
			took[event*watchCount+watch] = time.Since(sent[event])
			return event+1 < len(sent)
		})
		tick := time.NewTicker(pacedPeriod)
		defer tick.Stop()
		for i := range sent {
			<-tick.C
			sent[i] = time.Now()
			store.change()
		}
		readers.Wait()
		// Events that a closed watch did not get have no latency.
		took = slices.DeleteFunc(took, func(d time.Duration) bool { return d == 0 })
		slices.Sort(took)
		b.ReportMetric(float64(readers.closed.Load()), "closed")
		b.ReportMetric(float64(took[len(took)/2]), "p50-ns")
		b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns")
		b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkKubelets sends events that concern one of many watches, each for the pods
// of one node, and waits for each before the next.
func BenchmarkKubelets(b *testing.B) {
	eachCache(b, func(b *testing.B, cache cacheUnderTest) {
		store := newBenchStore()
		watches := openWatches(b, cache.start(b, podConfig(store, indexed)), ofNode)
		store.pod = onNode("changing", fmt.Sprintf("node-%d", watchCount/2))
		for b.Loop() {
			store.change()
			if !nextChange(watches[watchCount/2]) {
				b.Fatal("expected the watch to stay open, found it closed")
			}
		}
	})
}
