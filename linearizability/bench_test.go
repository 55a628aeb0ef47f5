package linearizability_test

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// BenchmarkLargeHistories measures how fast the oracle checks large histories, all work on them
// included, and what memory it takes, the histories included. make bench-oracle runs it
// with one core.
func BenchmarkLargeHistories(b *testing.B) {
	// Memory is half history; a collector that waits for twice as much would be measured
	// more than the oracle.
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	for _, events := range []int{250_000, 500_000, 1_000_000} {
		b.Run(fmt.Sprintf("events=%d", events), func(b *testing.B) {
			history := generateLarge(events/10, events, 1)
			var checked int
			before := processorTime(b)
			for b.Loop() {
				verdict := linearizability.Check(history, linearizability.DefaultConfig())
				require.Equal(b, linearizability.Passed, verdict.Outcome, "%s %v", verdict.Reason, verdict.Violations)
				checked += verdict.Counts.Events
			}
			b.ReportMetric(float64(checked)/(processorTime(b)-before).Seconds(), "events/cpu-s")
			b.ReportMetric(peakMemory(b), "peak-B")
		})
	}
}

// searchLimit is how long porcupine may search without resourceVersions.
const searchLimit = 10 * time.Second

// BenchmarkPorcupine shows how far porcupine comes by itself, without resourceVersions: with
// one state for all objects, as lists need it, and with a register for each object, without
// lists. Where it gives up, given-up is 1.
func BenchmarkPorcupine(b *testing.B) {
	plain := plainly(generateLarge(100_000, 0, 1))
	for _, m := range []struct {
		name  string
		model porcupine.Model
	}{{"store", wholeStore}, {"registers", oneRegister}} {
		for operations := 1000; ; operations *= 4 {
			operations = min(operations, len(plain))
			result := porcupine.Ok
			b.Run(fmt.Sprintf("as=%s/operations=%d", m.name, operations), func(b *testing.B) {
				for b.Loop() {
					result = searchPlain(m.model, plain[:operations], searchLimit)
				}
				require.NotEqual(b, porcupine.Illegal, result)
				b.ReportMetric(map[porcupine.CheckResult]float64{porcupine.Unknown: 1}[result], "given-up")
			})
			if operations == len(plain) || result != porcupine.Ok {
				break
			}
		}
	}
}

// processorTime is what the process has used.
func processorTime(b *testing.B) time.Duration {
	var usage unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// peakMemory is the most that has been resident so far, in bytes; 0 where the system does
// not tell.
func peakMemory(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, peak, _ := strings.Cut(string(text), "VmHWM:")
	var kibibytes float64
	_, err = fmt.Sscan(peak, &kibibytes)
	require.NoError(b, err)
	return kibibytes * 1024
}

// TestLargeHistories checks what the benchmarks check: histories of the wanted size, with
// something of everything, in which a lost event is noticed.
func TestLargeHistories(t *testing.T) {
	for seed := range uint64(3) {
		h := generateLarge(2000, 20_000, seed)
		verdict := linearizability.Check(h, linearizability.DefaultConfig())
		require.Equal(t, linearizability.Passed, verdict.Outcome, "%s %v", verdict.Reason, verdict.Violations)
		counts := verdict.Counts
		require.Len(t, h.Operations, 2000)
		require.GreaterOrEqual(t, counts.Events, 20_000)
		for name, count := range map[string]int{"gets": counts.Gets, "lists": counts.Lists, "unknown": counts.UnknownWrites,
			"blocks": counts.Blocks, "resumed": counts.Resumed, "bookmarks": counts.Bookmarks, "delivered": counts.Delivered} {
			require.Positive(t, count, name)
		}
		for s := range model.Each(h.Streams) {
			if k := slices.IndexFunc(s.Events, func(e model.Event) bool { return e.Type == model.Modified }); k >= 0 && k < len(s.Events)-1 {
				s.Events = slices.Delete(s.Events, k, k+1)
				break
			}
		}
		judge(t, h, guarantees{linearizability.Reliable})
	}
}

func TestPorcupineWithoutResourceVersions(t *testing.T) {
	plain := plainly(generateLarge(1000, 1000, 1))
	for _, m := range []porcupine.Model{wholeStore, oneRegister} {
		require.Equal(t, porcupine.Ok, searchPlain(m, plain, time.Minute))
		read := slices.IndexFunc(plain, func(p plainOperation) bool { return p.kind == model.Get && p.value != 0 })
		plain[read].value++ // nobody can have read that
		require.Equal(t, porcupine.Illegal, searchPlain(m, plain, time.Minute))
		plain[read].value--
	}
}
