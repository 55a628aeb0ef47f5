// Package campaign distributes a range of seeds over processes that share at most a folder, and
// merges their results.
//
// Each process runs one shard and appends a line of JSON for every seed to a file of its own. A
// killed process resumes where its file ends. The files of all shards can be merged in any order
// and any number of times.
//
//   - shard.go: which seeds a process runs, and how Kubernetes tells it.
//   - header.go: what a file of results is about, and which files belong together.
//   - file.go: the file that a shard appends to, and resumes after a kill.
//   - read.go: reading such a file, even with a truncated last line.
//   - signature.go: which failures are the same one.
//   - keep.go: which failures keep their artifacts.
//   - summary.go: counts and groups of failures.
//   - merge.go: one summary, or one file, from the files of all shards.
//   - report.go: a summary for people.
package campaign
