package simrun

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The benchmarks of this file measure binaries of simrun as a user runs them; make
// bench-simrun builds one, make bench-against compares it with that of a commit. An
// operation is a seed.

var simrunFlag = flag.String("simrun", "now=../bin/simrun", "binaries to measure, as name=path, separated by commas")

// eachBinary runs a benchmark with every binary that the flag names.
func eachBinary(b *testing.B, run func(b *testing.B, path string)) {
	for _, named := range strings.Split(*simrunFlag, ",") {
		name, path, _ := strings.Cut(named, "=")
		if _, err := os.Stat(path); err != nil {
			b.Skipf("expected a binary of simrun for -simrun %s: %v; run make build", named, err)
		}
		b.Run("binary="+name, func(b *testing.B) { run(b, path) })
	}
}

// BenchmarkSeeds measures one worker. Costs paid once a process, such as the boot of its template,
// are separate, as they would hide the cost of a seed: cpu-ms/seed is the processor time of one
// more seed, and cpu-ms-once the rest.
func BenchmarkSeeds(b *testing.B) {
	for _, name := range []string{"minute", "calm", "pair", "quorum", "storm"} {
		b.Run("scenario="+name, func(b *testing.B) {
			eachBinary(b, func(b *testing.B, path string) {
				const few = 2
				seeds := max(b.N, 2*few)
				started := runSeeds(b, path, few, "--scenario", name, "--workers", "1")
				all := runSeeds(b, path, seeds, "--scenario", name, "--workers", "1")
				each := (all.processor - started.processor).Seconds() / float64(seeds-few)
				b.ReportMetric(1000*each, "cpu-ms/seed")
				b.ReportMetric(1000*(started.processor.Seconds()-few*each), "cpu-ms-once")
				b.ReportMetric(float64(seeds-1)/all.steady.Seconds(), "seeds/s")
				b.ReportMetric(1000*all.wall/float64(seeds), "run-ms/seed")
				b.ReportMetric(1000*all.check/float64(seeds), "check-ms/seed")
				b.ReportMetric(100*all.check/(all.wall+all.check), "check-%")
				b.ReportMetric(float64(all.pageFaults)/float64(seeds), "page-faults/seed")
				b.ReportMetric(all.simulated/all.wall, "simulated-s/s")
				b.ReportMetric(float64(seeds-all.passed), "not-passed")
				b.ReportMetric(0, "ns/op")
			})
		})
	}
}

// BenchmarkFirstSeed measures a single run, from the command to the prompt.
func BenchmarkFirstSeed(b *testing.B) {
	eachBinary(b, func(b *testing.B, path string) {
		var processor time.Duration
		for b.Loop() {
			command := exec.Command(path, "--seed", "7", "--out", b.TempDir())
			output, err := command.CombinedOutput()
			require.NoError(b, err, string(output))
			processor += command.ProcessState.UserTime() + command.ProcessState.SystemTime()
		}
		b.ReportMetric(1000*processor.Seconds()/float64(b.N), "cpu-ms/op")
	})
}

// BenchmarkMemory measures the memory of many seeds with all workers, coordinator included.
func BenchmarkMemory(b *testing.B) {
	eachBinary(b, func(b *testing.B, path string) {
		b.ReportMetric(float64(runSeeds(b, path, max(b.N, 2)).peakMemory), "peak-B")
	})
}

// seedsRun is the sum of the results of a range of seeds. Failing runs count: they are measured,
// not judged.
type seedsRun struct {
	passed                 int
	simulated, wall, check float64       // seconds
	processor              time.Duration // of coordinator and workers
	pageFaults             int64
	steady                 time.Duration // from the first result to the last
	peakMemory             int64         // bytes
}

func runSeeds(b *testing.B, binary string, seeds int, arguments ...string) (sum seedsRun) {
	arguments = append(arguments, "--seeds", fmt.Sprintf("1-%d", seeds), "--json", "--out", b.TempDir())
	command := exec.Command(binary, arguments...)
	stdout, err := command.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, command.Start())
	stop := make(chan struct{})
	peak := watchMemory(command.Process.Pid, stop)
	var first time.Time
	count := 0
	for results := json.NewDecoder(stdout); ; count++ {
		var result struct {
			Verdict          string  `json:"verdict"`
			SimulatedSeconds float64 `json:"simulated_seconds"`
			WallSeconds      float64 `json:"wall_seconds"`
			CheckSeconds     float64 `json:"check_seconds"`
		}
		err := results.Decode(&result)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(b, err)
		if count == 0 {
			first = time.Now()
		}
		if result.Verdict == "passed" {
			sum.passed++
		}
		sum.simulated += result.SimulatedSeconds
		sum.wall += result.WallSeconds
		sum.check += result.CheckSeconds
		sum.steady = time.Since(first)
	}
	close(stop)
	sum.peakMemory = <-peak
	err = command.Wait()
	require.Contains(b, []int{0, 1, 3}, command.ProcessState.ExitCode(), "%s: %v", strings.Join(arguments, " "), err)
	require.Equal(b, seeds, count, "results of simrun")
	sum.processor = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	if usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
		sum.pageFaults = usage.Minflt + usage.Majflt
	}
	return sum
}

// watchMemory samples the memory of a process and all its descendants until stop is
// closed, then sends the largest sum.
func watchMemory(pid int, stop <-chan struct{}) <-chan int64 {
	peak := make(chan int64, 1)
	go func() {
		ticks := time.NewTicker(50 * time.Millisecond)
		defer ticks.Stop()
		var largest int64
		for {
			select {
			case <-stop:
				peak <- largest
				return
			case <-ticks.C:
				largest = max(largest, memoryOf(strconv.Itoa(pid)))
			}
		}
	}()
	return peak
}

// memoryOf returns the memory of a process and its descendants in bytes. Shared memory, mostly
// between a copy and its original, is divided among them. An ended process has none.
func memoryOf(pid string) (sum int64) {
	rollup, _ := os.ReadFile("/proc/" + pid + "/smaps_rollup")
	_, pss, _ := strings.Cut(string(rollup), "\nPss:")
	_, _ = fmt.Sscan(pss, &sum)
	sum <<= 10
	for _, child := range childrenOf(pid) {
		sum += memoryOf(child)
	}
	return sum
}

// childrenOf returns the child processes.
func childrenOf(pid string) (children []string) {
	lists, _ := filepath.Glob("/proc/" + pid + "/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		children = append(children, strings.Fields(string(text))...)
	}
	return children
}
