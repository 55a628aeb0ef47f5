// Package racy has a data race, for a test that it is found. The race detector sees it as it sees
// users' packages, and unlike those of the harness.
package racy

// Count returns how often two goroutines that synchronise with nobody were counted, some time later.
func Count(later func()) int {
	n := 0
	for range 2 {
		go func() { n++ }()
	}
	later()
	return n
}
