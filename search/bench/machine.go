package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// machine says what the figures were measured on.
func machine() string {
	model := "unknown CPU"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	load := ""
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(text), " ")
		load = ", load " + load + " before"
	}
	return fmt.Sprintf("%s, %d cores, %s %s/%s%s", model, runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, load)
}
