package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/watchsim/watchsim/sim/overlay"
)

// prices are the kinds of work that are done in a simulation and outside of one, how
// often at a time, and how much dearer a simulation may make them.
var prices = []struct {
	work, what string
	times      int
	maxRatio   float64
}{
	{"channels", "channel round trip", 1_000_000, 1.5},
	{"operations", "write through an API server and etcd, seen by a watch", 2_000, 1.2},
}

// pricePackage is the program that is built twice.
const pricePackage = "./search/bench/price"

// price does the same work in a simulation and with the stock runtime, in turns, and
// compares the processor time of each pair: what else the machine does hits both.
func price(s settings) ([]row, error) {
	dir, err := os.MkdirTemp("", "watchsim-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	stock, simulated := filepath.Join(dir, "stock"), filepath.Join(dir, "simulated")
	toolchain, err := overlay.Installed()
	if err != nil {
		return nil, err
	}
	made, err := overlay.Write(toolchain, ".", filepath.Join("build", "overlay"))
	if err != nil {
		return nil, err
	}
	if err := build(s, stock); err != nil {
		return nil, err
	}
	if err := build(s, simulated, made.Flags()...); err != nil {
		return nil, err
	}
	var rows []row
	for _, p := range prices {
		fmt.Fprintf(s.notes, "+ %s %d, stock and simulated in turns, %d times\n", p.work, p.times, s.pairs)
		var plain, sims, ratios []float64
		for range max(1, s.pairs) {
			a, err := priceOf(stock, p.work, p.times)
			if err != nil {
				return nil, err
			}
			b, err := priceOf(simulated, p.work, p.times)
			if err != nil {
				return nil, err
			}
			plain, sims, ratios = append(plain, a), append(sims, b), append(ratios, b/a)
		}
		ratio := median(ratios)
		rows = append(rows, row{
			p.what + ": processor time simulated, of that outside",
			fmt.Sprintf("%.2f, from %.2f to %.2f (%.1f µs, outside %.1f µs)", ratio, slices.Min(ratios), slices.Max(ratios), median(sims)/1000, median(plain)/1000),
			fmt.Sprintf("at most %.1f", p.maxRatio), ratio <= p.maxRatio,
		})
	}
	return rows, nil
}

func build(s settings, binary string, flags ...string) error {
	arguments := append(append([]string{"build", "-o", binary}, flags...), pricePackage)
	fmt.Fprintf(s.notes, "+ go %s\n", strings.Join(arguments, " "))
	if out, err := exec.Command("go", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build %s: %w\n%s", pricePackage, err, out)
	}
	return nil
}

// priceOf is the processor time of one piece of work, in nanoseconds.
func priceOf(binary, work string, times int) (float64, error) {
	command := exec.Command(binary, work, strconv.Itoa(times))
	// One P from the start, as a simulation needs it.
	command.Env = append(os.Environ(), "GOMAXPROCS=1")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
