//go:build wallclock

package main

import "time"

func init() { setWallClock = func(by time.Duration) { time.WallOffset.Store(int64(by / time.Second)) } }
