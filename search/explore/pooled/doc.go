// Package pooled has the attempts of a search run by worker processes, as runs of a
// scenario that an oracle judges.
//
//   - runner.go: an attempt as a job, and what came of it.
package pooled
