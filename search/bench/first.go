package main

import (
	"fmt"
	"os"
	"os/exec"
	"time"
)

const (
	firstMax   = time.Second
	firstTimes = 5
)

// first measures one run by itself, from the command to the prompt: the boot of its
// template included.
func first(s settings) ([]row, error) {
	out, err := os.MkdirTemp("", "watchsim-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(out)
	fmt.Fprintf(s.notes, "+ %s --seed 7, %d times\n", s.simrun, firstTimes)
	var clock, processor []float64
	for range firstTimes {
		command := exec.Command(s.simrun, "--seed", "7", "--out", out)
		began := time.Now()
		if text, err := command.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s --seed 7: %w\n%s", s.simrun, err, text)
		}
		clock = append(clock, time.Since(began).Seconds())
		processor = append(processor, (command.ProcessState.UserTime() + command.ProcessState.SystemTime()).Seconds())
	}
	took := median(clock)
	return []row{{
		"simrun --seed 7, all of it", fmt.Sprintf("%.2f s, of which %.2f s of processor time", took, median(processor)),
		fmt.Sprintf("below %v", firstMax), took < firstMax.Seconds(),
	}}, nil
}
