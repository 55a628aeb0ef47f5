// Package campaign spreads a range of seeds over processes that share nothing
// but a folder, or not even that, and puts their results together.
//
// Each process runs one shard and appends a line of JSON to a file of its own for
// every seed. A process that was killed resumes where its file ends. The files of
// all shards can be merged in any order and any number of times.
//
//   - shard.go: which seeds a process runs, and how Kubernetes tells it.
//   - header.go: what a file of results is about, and which files belong together.
//   - file.go: the file that a shard appends to, and resumes after a kill.
//   - read.go: reading such a file, half a last line included.
//   - signature.go: which failures are the same one.
//   - keep.go: which failures keep their artifacts.
//   - summary.go: counts and groups of failures.
//   - merge.go: one summary, or one file, from the files of all shards.
//   - report.go: a summary for people.
package campaign
