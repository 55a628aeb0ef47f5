package rig

import (
	"io"
	"net/http"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Metric returns a metric of the etcd at an address, summed over its labels.
func Metric(address, name string) (sum float64) {
	response := Value(http.Get("http://" + address + "/metrics"))
	defer response.Body.Close()
	text := Value(io.ReadAll(response.Body))
	for _, line := range regexp.MustCompile(`(?m)^`+name+`(\{.*\})? (.*)$`).FindAllStringSubmatch(string(text), -1) {
		sum += Value(strconv.ParseFloat(line[2], 64))
	}
	return sum
}

// Goroutines counts the goroutines of this process whose stack contains a function.
func Goroutines(function string) (count int) {
	stacks := make([]byte, 16<<20)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, function) {
			count++
		}
	}
	return count
}

// Heap returns how many bytes of the heap are in use.
func Heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Wait waits for a condition, which it checks at an interval. It returns how long that took,
// which is patience if the condition was not met.
func Wait(interval, patience time.Duration, condition func() bool) (took time.Duration, met bool) {
	for began := time.Now(); time.Since(began) < patience; time.Sleep(interval) {
		if condition() {
			return time.Since(began), true
		}
	}
	return patience, false
}

// Until waits up to 10 s for a condition, and reports whether it was met.
func Until(condition func() bool) bool {
	_, met := Wait(time.Millisecond, 10*time.Second, condition)
	return met
}
