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

// ratioMost is how much dearer a channel operation may be in a simulation.
const ratioMost = 1.5

// pingPongPackage is the program that is built twice.
const pingPongPackage = "./sim/bench/pingpong"

// scheduler runs a ping-pong in a simulation and with the stock runtime, in
// turn, and compares each pair: what else the machine does hits both.
func scheduler(s settings) ([]row, error) {
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

	var plain, sims, ratios []float64
	fmt.Fprintf(s.notes, "+ pingpong %d, stock and simulated in turn, %d times\n", s.rounds, s.pairs)
	for range max(1, s.pairs) {
		a, err := pingPong(stock, s.rounds)
		if err != nil {
			return nil, err
		}
		b, err := pingPong(simulated, s.rounds)
		if err != nil {
			return nil, err
		}
		plain, sims, ratios = append(plain, a), append(sims, b), append(ratios, b/a)
	}
	ratio := median(ratios)
	return []row{
		{"channel round trip, stock", fmt.Sprintf("%.0f ns", median(plain)), "", true},
		{"channel round trip, simulated", fmt.Sprintf("%.0f ns", median(sims)), "", true},
		{"channel round trip, ratio", fmt.Sprintf("%.2f", ratio), fmt.Sprintf("at most %.1f", ratioMost), ratio <= ratioMost},
	}, nil
}

func build(s settings, binary string, flags ...string) error {
	arguments := append(append([]string{"build", "-o", binary}, flags...), pingPongPackage)
	fmt.Fprintf(s.notes, "+ go %s\n", strings.Join(arguments, " "))
	if out, err := exec.Command("go", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build %s: %w\n%s", pingPongPackage, err, out)
	}
	return nil
}

// pingPong returns the nanoseconds of a round trip.
func pingPong(binary string, rounds int) (float64, error) {
	command := exec.Command(binary, strconv.Itoa(rounds))
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
