// Package swarm runs many seeds over worker processes.
//
// A worker is this binary once more, with one P. It boots the cluster of a template,
// stops the world, and does each job in a copy of itself, or one job in place. A run that
// ends its process is a failure of that run; a worker that ends for another reason is
// replaced. A failure is confirmed in a fresh worker, which writes the artifacts before
// it checks the history.
//
//   - job.go: what goes to a worker and what comes back.
//   - explored.go: what a worker reports about a run of a search.
//   - work.go: the worker's side.
//   - ends.go: which states the runs of a search have reached, how those runs ended, and
//     how a run ended its process.
//   - tape.go: memory for tapes, which outlives the runs that write them.
//   - session.go: a run that is visited at one place after another.
//   - process.go: one worker process, seen from the coordinator.
//   - protocol.go: whether the coordinator and its workers were built alike.
//   - complaint.go: what a run printed before it died.
//   - released.go: a worker for a released version.
//   - swarm.go: the coordinator.
//   - pool.go: slots for jobs, and the workers that do them.
//   - attempts.go: the runner of a search of schedules.
//   - trace.go: traces as files.
//   - verify.go: whether one seed is one run.
package swarm
