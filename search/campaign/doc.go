// Package campaign spreads a range of seeds over processes that share nothing
// but a folder, or not even that, and puts their results together.
//
// Each process works off one shard and appends a line of JSON to a file of its
// own for every seed. A process that was killed goes on where its file ends.
// Whoever has the files of all shards can merge them, in any order and as often
// as wanted.
//
//   - shard.go: which seeds a process works off, and how Kubernetes says so.
//   - header.go: what a file of results is about, and which files belong together.
//   - file.go: the file that a shard appends to, and goes on with after a kill.
//   - read.go: reading such a file, half a last line included.
//   - signature.go: which failures are the same one.
//   - keep.go: which failures keep their artifacts.
//   - summary.go: counts and groups of failures.
//   - merge.go: one summary, or one file, from the files of all shards.
//   - report.go: a summary for people.
package campaign
