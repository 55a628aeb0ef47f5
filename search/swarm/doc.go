// Package swarm runs many seeds over worker processes.
//
// A worker is this binary once more, with one P. It boots the cluster of a template,
// stops the world, and does each job in a copy of itself, or one job in place. A run that
// ends its process is a verdict on that run; a worker that ends of something else is
// replaced. A failure is confirmed in a fresh worker, which writes the artifacts before
// it judges.
//
//   - job.go: what goes to a worker and what comes back.
//   - explored.go: what a worker says of a run that a search steers.
//   - work.go: the worker's side.
//   - ends.go: which states runs that a search steers have come through, and how they ended.
//   - tape.go: memory for tapes, which outlives the runs that write them.
//   - process.go: one worker process, seen from the coordinator.
//   - protocol.go: whether the two understand each other.
//   - complaint.go: what a run said before it died.
//   - swarm.go: the coordinator.
//   - pool.go: slots for jobs, and the workers that do them.
//   - attempts.go: the runner of a search of schedules.
//   - death.go: how a run ended its process.
//   - trace.go: traces as files.
//   - verify.go: whether one seed is one run.
package swarm
