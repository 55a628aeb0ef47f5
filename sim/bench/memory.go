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
	memoryMost  = 2 << 30 // bytes
	memoryEvery = 20 * time.Millisecond
)

// memory measures what many seeds take with all workers.
func memory(s settings) ([]row, error) {
	total, err := simrun(s, "--seeds", fmt.Sprintf("1-%d", max(2, s.many)))
	if err != nil {
		return nil, err
	}
	return []row{{
		fmt.Sprintf("memory of %d seeds, all processes", total.runs),
		fmt.Sprintf("%d MiB", total.peakMemory>>20), fmt.Sprintf("below %d MiB", memoryMost>>20), total.peakMemory < memoryMost,
	}}, nil
}

// watchMemory samples the resident memory of a process and its children until
// stop is closed, then sends the largest sum.
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
				now := resident(pid)
				for _, child := range children(pid) {
					now += resident(child)
				}
				most = max(most, now)
			}
		}
	}()
	return peak
}

// resident is the resident memory of a process in bytes, 0 if it has ended.
func resident(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
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
