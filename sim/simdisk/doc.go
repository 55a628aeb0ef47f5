// Package simdisk is the disk of a simulated host: what it takes to sync a file, and
// what is left of files when the power fails.
//
// Programs write to real files, with the system calls of the real Go runtime, and that
// takes no simulated time. Only where they sync (fsync, fdatasync) does package sim ask
// the [Disk] of the host. A file that was written and not synced is safe from a crash
// of its process and not from [Disk.Fail]: some, or all, of the sectors that changed
// since are then what they were.
package simdisk
