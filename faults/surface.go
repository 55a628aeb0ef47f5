package faults

import (
	"context"
	"time"
)

// Surface is what faults act on: the simulated cluster. Processes, which are
// etcd's members, API servers and clients, go by their names.
//
// A method that takes a context may take simulated time and returns soon after
// the context is done; the others return at once. All may be called from
// several goroutines. A method that heals is harmless where nothing is wrong.
type Surface interface {
	// Members are the names of etcd's members, in a fixed order.
	Members() []string

	// Compact compacts etcd's history at the revision that lies back below the
	// current one, and returns that revision. It fails if the history is
	// compacted there already.
	Compact(ctx context.Context, back int64) (revision int64, err error)

	// RestartMember stops a member in an orderly way and starts it again.
	RestartMember(ctx context.Context, member string) error
	// CrashMember kills a member: what it had not synced to disk is lost.
	CrashMember(member string) error
	// StartMember starts a crashed member from its files. It may wait for the
	// member to find a quorum, so members that need each other start together.
	StartMember(ctx context.Context, member string) error
	// MoveLeader makes another member the leader, and returns which was and
	// which is.
	MoveLeader(ctx context.Context) (from, to string, err error)

	// SetLatency adds delay to everything sent from one process to another; 0
	// heals it.
	SetLatency(from, to string, delay time.Duration) error
	// Partition stops everything between two processes. Neither is told:
	// connections stay open and silent, and what was sent arrives after healing.
	Partition(one, other string) error
	// PartitionOneWay is Partition for what goes from one process to the other.
	PartitionOneWay(from, to string) error
	// BlackHole loses what goes from one process to another. A connection that
	// lost something never delivers again.
	BlackHole(from, to string) error
	// HealLink ends whatever keeps two processes from talking, in both directions.
	HealLink(one, other string) error
	// Reset breaks the open connections between two processes, and returns how
	// many there were.
	Reset(one, other string) (connections int, err error)

	// RestartServer stops an API server in an orderly way and starts it again.
	RestartServer(ctx context.Context, server string) error
	// CrashServer kills an API server.
	CrashServer(server string) error
	// StartServer starts a crashed API server. It does not wait for its cache.
	StartServer(ctx context.Context, server string) error
	// BreakWatch fails the upstream watch of a server's cache once.
	BreakWatch(server string) error

	// SlowConsumer makes a client take delay for each event it reads.
	SlowConsumer(client string, delay time.Duration) error
	// StallConsumer makes a client stop reading its streams.
	StallConsumer(client string) error
	// HealConsumer gives a client its own pace back.
	HealConsumer(client string) error
}
