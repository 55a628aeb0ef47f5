// Package simdisk is the disks of simulated hosts: files, what it takes to sync one, and
// what is left of them when the power fails.
//
// Files below [Root] are in memory. Programs use them with the same functions of Go as
// any others, package os above all, and with memory maps: the edited package syscall
// brings each system call on them here ([Mount]). That takes no simulated time. A copy
// of the process has copies of all files, open ones included, and nothing of them is
// left behind when a process ends.
//
// Where simulated goroutines sync (fsync, fdatasync), package sim asks the [Disk] of the
// host. A file that was written and not synced is safe from a crash of its process and
// not from [Disk.Fail]: some, or all, of the sectors that changed since are then what
// they were.
//
//   - files.go: the files and what is in them.
//   - names.go: folders, and the names in them.
//   - disk.go: syncing.
//   - fail.go: what is left when the power fails.
package simdisk
