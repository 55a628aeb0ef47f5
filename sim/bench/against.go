package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// against compares the processor time of a seed with that of an older binary, in turns:
// what else the machine does hits both.
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
		seeds := fmt.Sprintf("1-%d", max(2, s.seeds/c.divisor))
		var before, after, ratios []float64
		for range max(1, s.turns) {
			pair := [2]float64{}
			for i, binary := range []string{old, s.simrun} {
				turn := s
				turn.simrun = binary
				total, err := simrun(turn, "--scenario", c.scenario, "--workers", "1", "--seeds", seeds)
				if err != nil {
					return nil, err
				}
				pair[i] = total.processorEach()
			}
			before, after, ratios = append(before, pair[0]), append(after, pair[1]), append(ratios, pair[1]/pair[0])
		}
		ratio := median(ratios)
		rows = append(rows, row{
			c.scenario + ": processor time a seed, of the older binary's",
			fmt.Sprintf("%.2f (%.1f ms after %.1f ms)", ratio, 1000*median(after), 1000*median(before)),
			fmt.Sprintf("at most %.1f", c.maxRatio), ratio <= c.maxRatio,
		})
	}
	return rows, nil
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
