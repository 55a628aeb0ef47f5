// Package swarm runs many seeds over worker processes.
//
// A worker is this binary once more, with one P and a folder of its own. It is
// warmed up by a run that does not count, works off jobs, and ends after a
// stated number of runs or when it has grown too large, because a run never
// frees all of its memory. A failure is confirmed in a fresh worker, which
// writes the artefacts before it judges.
//
//   - job.go: what goes to a worker and what comes back.
//   - explored.go: what a worker says of a run that a search steers.
//   - work.go: the worker's side.
//   - process.go: one worker process, seen from the coordinator.
//   - limit.go, limit_linux.go, limit_other.go: how long a run may take.
//   - complaint.go: what a worker said before it died.
//   - swarm.go: the coordinator.
//   - memory.go, memory_race.go: when a worker is too large.
//   - verify.go: whether one seed is one run.
package swarm
