package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// compared are the scenarios that two binaries are compared by, and which part of the
// seeds each is given: some take much longer than others.
var compared = []struct {
	scenario string
	divisor  int
	maxRatio float64
}{
	{"minute", 4, 0.6},
	{"calm", 4, 0.9},
	{"pair", 8, 0.9},
	{"quorum", 16, 0.9},
	{"storm", 8, 0.9},
}

// fewSeeds is a range whose processor time is nearly all paid once: for starting, booting
// and warming up.
const fewSeeds = 2

// against compares the processor time of a seed with that of an older binary, in turns:
// what else the machine does hits both. What is paid once is told apart, since in a short
// range it would hide what a seed costs.
func against(s settings) ([]row, error) {
	old, clean, err := s.older()
	if err != nil {
		return nil, err
	}
	defer clean()
	if old == "" {
		return []row{{"compared with another binary", "not asked for: give -old or -since", "", true}}, nil
	}
	var rows []row
	for _, c := range compared {
		seeds := max(4*fewSeeds, s.seeds/c.divisor)
		var once, each [2][]float64 // seconds, of the older binary and of this one
		var ratios []float64
		for range max(1, s.turns) {
			for i, binary := range []string{old, s.simrun} {
				few, err := s.processor(binary, c.scenario, fewSeeds)
				if err != nil {
					return nil, err
				}
				all, err := s.processor(binary, c.scenario, seeds)
				if err != nil {
					return nil, err
				}
				one := (all - few) / float64(seeds-fewSeeds)
				each[i] = append(each[i], one)
				once[i] = append(once[i], few-fewSeeds*one)
			}
			ratios = append(ratios, each[1][len(each[1])-1]/each[0][len(each[0])-1])
		}
		ratio := median(ratios)
		rows = append(rows,
			row{
				c.scenario + ": processor time of one seed more, of the older binary's",
				fmt.Sprintf("%.2f, from %.2f to %.2f (%.1f ms after %.1f ms, %d seeds)", ratio, slices.Min(ratios), slices.Max(ratios),
					1000*median(each[1]), 1000*median(each[0]), seeds),
				fmt.Sprintf("at most %.1f", c.maxRatio), ratio <= c.maxRatio,
			},
			row{c.scenario + ": processor time paid once", fmt.Sprintf("%.2f s after %.2f s", median(once[1]), median(once[0])), "", true},
		)
	}
	return rows, nil
}

// processor is the processor time of a range of seeds, in seconds.
func (s settings) processor(binary, scenario string, seeds int) (float64, error) {
	s.simrun = binary
	total, err := simrun(s, "--scenario", scenario, "--workers", "1", "--seeds", fmt.Sprintf("1-%d", seeds))
	return total.processor.Seconds(), err
}

// older is the binary to compare with, "" if there is none, and what removes it again if
// it was built for this.
func (s settings) older() (binary string, clean func(), err error) {
	if s.since == "" {
		return s.old, func() {}, nil
	}
	folder, err := os.MkdirTemp("", "watchsim-bench-")
	if err != nil {
		return "", nil, err
	}
	tree := filepath.Join(folder, "tree")
	clean = func() {
		_ = exec.Command("git", "worktree", "remove", "--force", tree).Run()
		_ = os.RemoveAll(folder)
	}
	for _, words := range [][]string{
		{"git", "worktree", "add", "--detach", tree, s.since},
		{"make", "-C", tree, "build"},
	} {
		fmt.Fprintln(s.notes, "+", strings.Join(words, " "))
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			clean()
			return "", nil, fmt.Errorf("cannot build commit %s: %s: %w\n%s", s.since, strings.Join(words, " "), err, out)
		}
	}
	return filepath.Join(tree, "bin", "simrun"), clean, nil
}
