// Package etcd runs real etcd members inside the simulating process and reads
// from their logs what they committed.
//
// It answers four questions:
//   - How is a member booted, stopped, killed and restarted cheaply enough to
//     do so in every simulated run? See [Start], [Member.Stop] and [CopyDir].
//   - What runs in etcd's place, if not etcd? See [Store].
//   - How does an API server reach its members? See [NewClient].
//   - What did the cluster commit? See [Truth], and [MemberLog] for what it reads.
//
// A member is etcd's own server, unmodified: raft, write-ahead log, bbolt and gRPC, of
// whichever [Release] is built in. Only its settings are chosen for short runs on a
// fast disk. Data folders should be on a memory file system (/dev/shm): bootstrapping
// calls fsync a few times whatever the settings, which on a disk takes longer than the
// rest of a boot.
package etcd
