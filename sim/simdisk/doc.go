// Package simdisk simulates the disks of hosts: files, how long a sync takes, and what
// survives a power failure.
//
// Files below [Root] are in memory. Programs use them like any other files, through package os,
// memory maps and system calls: the edited package syscall routes each system call on them to this
// package ([Mount]). That takes no simulated time. A copy of the process has copies of all files,
// including open ones, and nothing remains when a process ends.
//
// Where simulated goroutines sync (fsync, fdatasync), package sim asks the [Disk] of the
// host. Unsynced writes survive a crash of their process but not [Disk.Fail], which reverts
// some or all of the sectors that have changed since the last sync.
//
//   - files.go: the files and what is in them.
//   - names.go: folders, and the names in them.
//   - disk.go: syncing.
//   - fail.go: what is left after a power failure.
package simdisk
