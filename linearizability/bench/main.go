// Command bench measures the oracle: how fast it judges large histories, how its
// time grows with their size, and what memory it takes; and beside it how far
// porcupine comes by itself, without resourceVersions. `make bench` runs it.
//
//	go run ./linearizability/bench
//	go run ./linearizability/bench -operations 10000 -events 100000
//	go run ./linearizability/bench -json
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// rounds is how often each history is judged. The best counts: whatever else the
// machine does at the time only takes away.
const rounds = 3

// report is what was measured.
type report struct {
	// Oracle is in order of size, the largest last.
	Oracle []judged `json:"oracle"`
	// PeakMemory is the most that was resident while histories were made and
	// judged, in bytes.
	PeakMemory int64 `json:"peak_memory"`
	// Plain is porcupine without resourceVersions.
	Plain []searched `json:"plain"`
	// PlainLimit is how many seconds each of Plain had.
	PlainLimit float64 `json:"plain_limit"`
}

func run(arguments []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	operations := flags.Int("operations", 100_000, "reads and writes of the largest history")
	events := flags.Int("events", 1_000_000, "watch events of the largest history")
	limit := flags.Duration("plain-limit", 10*time.Second, "how long porcupine may search a prefix by itself")
	seed := flags.Uint64("seed", 1, "what the histories are drawn from")
	asJSON := flags.Bool("json", false, "print one JSON object")
	if flags.Parse(arguments) != nil {
		return 2
	}
	if *operations < 1000 || *events < 1000 {
		fmt.Fprintf(stderr, "bench: expected at least 1000 operations and events, found %d and %d\n", *operations, *events)
		return 2
	}
	found, err := measure(size{operations: *operations, events: *events}, *seed, *limit)
	if err == nil {
		if *asJSON {
			err = json.NewEncoder(stdout).Encode(found)
		} else {
			err = found.print(stdout)
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
	return 0
}

// measure judges histories of a quarter of the size, half of it and all of it,
// and lets porcupine search prefixes of the last one.
func measure(largest size, seed uint64, limit time.Duration) (report, error) {
	runtime.GOMAXPROCS(1) // figures are those of one core
	// Memory is half history; a collector that waits for twice as much would be
	// measured more than the oracle.
	debug.SetGCPercent(50)
	found := report{PlainLimit: limit.Seconds()}
	var operations []plainOperation
	for _, part := range []int{4, 2, 1} {
		history := generate(size{operations: largest.operations / part, events: largest.events / part}, seed)
		best, err := judge(history)
		for range rounds - 1 {
			if err != nil {
				return report{}, err
			}
			var again judged
			if again, err = judge(history); again.CPU < best.CPU {
				best = again
			}
		}
		if err != nil {
			return report{}, err
		}
		found.Oracle = append(found.Oracle, best)
		if part == 1 {
			operations = plainly(history)
		}
	}
	var err error
	if found.PeakMemory, err = peakMemory(); err != nil {
		return report{}, err
	}
	runtime.GC()
	found.Plain = searchAll(operations, limit)
	return found, nil
}

func (r report) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "watch events\tstreams\treads and writes\tCPU s\tevents a CPU second\twall s\t")
	for _, j := range r.Oracle {
		fmt.Fprintf(table, "%d\t%d\t%d\t%.2f\t%.0f\t%.2f\t\n", j.Events, j.Streams, j.Operations, j.CPU, j.rate(), j.Wall)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\npeak memory %d MiB, histories included\n\nporcupine without resourceVersions, on prefixes of the last, each for at most %gs:\n\n",
		r.PeakMemory>>20, r.PlainLimit)
	table = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "operations\tof unknown outcome\twall s\tresult\tas\t")
	for _, s := range r.Plain {
		fmt.Fprintf(table, "%d\t%d\t%.2f\t%s\t%s\t\n", s.Operations, s.Unknown, s.Wall, strings.ToLower(s.Result), s.Model)
	}
	return table.Flush()
}
