package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	memoryMax   = 3 << 29 // bytes
	memoryEvery = 50 * time.Millisecond
)

// memory measures what many seeds take with all workers.
func memory(s settings) ([]row, error) {
	total, err := simrun(s, "--seeds", fmt.Sprintf("1-%d", max(2, s.many)))
	if err != nil {
		return nil, err
	}
	return []row{{
		fmt.Sprintf("memory of %d seeds, all processes", total.runs),
		fmt.Sprintf("%d MiB", total.peakMemory>>20), fmt.Sprintf("below %d MiB", memoryMax>>20), total.peakMemory < memoryMax,
	}}, nil
}

// watchMemory samples the memory of a process and all its descendants until stop is
// closed, then sends the largest sum.
func watchMemory(pid int, stop <-chan struct{}) <-chan int64 {
	peak := make(chan int64, 1)
	go func() {
		ticks := time.NewTicker(memoryEvery)
		defer ticks.Stop()
		var most int64
		for {
			select {
			case <-stop:
				peak <- most
				return
			case <-ticks.C:
				most = max(most, tree(pid))
			}
		}
	}()
	return peak
}

// tree is the memory of a process and its descendants in bytes.
func tree(pid int) int64 {
	sum := proportional(pid)
	for _, child := range children(pid) {
		sum += tree(child)
	}
	return sum
}

// proportional is the memory of a process in bytes, 0 if it has ended. What it shares
// with others, a copy with its original most of all, is divided among them.
func proportional(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kibibytes int64
		if n, _ := fmt.Sscanf(line, "Pss: %d kB", &kibibytes); n == 1 {
			return kibibytes << 10
		}
	}
	return 0
}

// children are the processes that a process has started, by any of its threads.
func children(pid int) (pids []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		for _, word := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}
