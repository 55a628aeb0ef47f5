//go:build !linux

package main

import (
	"errors"
	"time"
)

var errNotLinux = errors.New("expected Linux, found another system: the CPU time and memory of another process are only read there")

func cpuTime(int) (time.Duration, error) { return 0, errNotLinux }

func residentBytes(int) (int64, error) { return 0, errNotLinux }
