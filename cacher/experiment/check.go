package main

import (
	"math"
	"slices"
	"time"
)

// write is a change of a pod, as its writer saw it.
type write struct {
	revision   int64
	sent, done time.Duration // since the start of the measurement
}

// delivery is what all clients together were owed and got.
type delivery struct {
	Expected int // events, initial ones included
	Missing  int // events that did not come while there was patience
	Wrong    int // events out of order, twice, or of nobody's write
	Ended    int // watches that the server ended before all events had come
}

// check compares what each client got with what was committed: exactly that, in
// that order. It returns how long each event of a write took, from when it was sent.
func check(initial []int64, writes []write, all []*client) (delivery, []time.Duration) {
	committed := slices.Clone(initial)
	sent := make(map[int64]time.Duration, len(writes))
	for _, w := range writes {
		committed = append(committed, w.revision)
		sent[w.revision] = w.sent
	}
	var found delivery
	latencies := make([]time.Duration, 0, len(all)*len(writes))
	for _, one := range all {
		missing, wrong := compare(committed, one.receipts)
		found.Expected += len(committed)
		found.Missing += missing
		found.Wrong += wrong
		if one.ended {
			found.Ended++
		}
		for _, r := range one.receipts {
			if at, written := sent[r.revision]; written {
				latencies = append(latencies, r.at-at)
			}
		}
	}
	slices.Sort(latencies)
	return found, latencies
}

// compare walks along what was committed, in order, and what one client received.
func compare(committed []int64, received []receipt) (missing, wrong int) {
	next := 0
	for _, r := range received {
		at, known := slices.BinarySearch(committed[next:], r.revision)
		if !known {
			wrong++ // late, twice or unknown
			continue
		}
		missing += at
		next += at + 1
	}
	return missing + len(committed) - next, wrong
}

// quantile returns the smallest of sorted durations that a share of them does not
// exceed, and 0 if there are none.
func quantile(sorted []time.Duration, share float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}
