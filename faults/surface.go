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

	// Await arms a point: an operation that gets there for the number-th time from
	// now on stops until the fault lets it go.
	Await(point, process string, number int) Stop

	// Compact compacts etcd's history at the revision that lies back below the
	// current one, or at the one that OldestKept or LastDeletion names, and returns
	// that revision. It fails if the history is compacted there already.
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

	// SetDiskDelay makes each sync of a member's files take that long; 0 heals it.
	SetDiskDelay(member string, delay time.Duration) error
	// CutPower kills a member and its disk: of what it has not synced, the disk keeps
	// some or nothing. It returns how many sectors were lost: none but while something
	// waits for PointSync of that member, as otherwise no sync is under way.
	CutPower(member string, keep Keep) (lost int, err error)
	// RestoreMember stops a member and starts another in its place, from a snapshot of
	// its database and with a log of its own. The revision is raised by bump, and all
	// that is older counts as compacted then; 0 is for neither.
	RestoreMember(ctx context.Context, member string, bump int64) error
	// SetClock sets the wall clock of a process ahead of the others; 0 heals it.
	SetClock(process string, ahead time.Duration) error

	// Defragment makes a member rewrite its database file.
	Defragment(ctx context.Context, member string) error
	// StartCompactor makes a member run etcd's own periodic compactor, which keeps
	// a period of history, and StopCompactor ends it.
	StartCompactor(member string, period time.Duration) error
	StopCompactor(member string) error

	// HoldWatchStreams keeps back what etcd's members send on the watch streams of
	// an API server, and ReleaseWatchStreams sends it.
	HoldWatchStreams(server string) error
	ReleaseWatchStreams(server string) error
	// LoseProgress loses the progress notifications for an API server, or no more.
	LoseProgress(server string, lose bool) error
	// BreakWatchStreams makes etcd's members end the watch streams of an API server
	// with an error that tells a client to try again, and returns how many there were.
	BreakWatchStreams(server string) (streams int, err error)

	// SetLatency adds delay to everything sent from one process to another; 0
	// heals it.
	SetLatency(from, to string, delay time.Duration) error
	// SetRate limits what two processes send each other, in bytes per second and
	// direction; 0 heals it.
	SetRate(one, other string, rate int64) error
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
	// BreakWatch ends the upstream watch of a server's cache once, in that way.
	BreakWatch(server string, how WatchEnd) error
	// Fail makes a server fail what it reads from etcd in that way, or no more.
	Fail(server string, what Failure, fails bool) error
	// Expire gives the objects that a server writes from now on a time to live; 0
	// makes them stay for ever.
	Expire(server string, ttl time.Duration) error
	// Refuse breaks the connections of a server's clients and accepts no more of
	// them, or accepts them again. The server goes on as before.
	Refuse(server string, refuse bool) error

	// SlowConsumer makes a client take delay for each event it reads.
	SlowConsumer(client string, delay time.Duration) error
	// StallConsumer makes a client stop reading its streams.
	StallConsumer(client string) error
	// HealConsumer gives a client its own pace back.
	HealConsumer(client string) error
}

// Stop is where an operation stops once it gets to a point.
type Stop interface {
	// Reached is closed when the operation is there.
	Reached() <-chan struct{}
	// Release lets the operation go on, or pass if it has not come yet. It may be
	// called more than once.
	Release()
}

// HoldMost is how long an operation waits at its point at most.
const HoldMost = 2 * time.Second

// WatchEnd is how the upstream watch of a cache ends.
type WatchEnd string

const (
	// WatchExpired is an error that says that the watch's place in the history is
	// gone.
	WatchExpired WatchEnd = "expired"
	// WatchFailed is an internal error, as of an event that cannot be decoded.
	WatchFailed WatchEnd = "failed"
	// WatchClosed is the end without an error.
	WatchClosed WatchEnd = "closed"
)

// Keep is what a disk keeps of what was written and not synced when its power fails.
type Keep string

const (
	// KeepNothing is for all that was not synced is lost.
	KeepNothing Keep = "nothing"
	// KeepSome is for any of the sectors that were written: what was written last may
	// be there and what was written before it not, and one record in part.
	KeepSome Keep = "some"
)

// Failure is a way in which reading from etcd fails.
type Failure string

const (
	// ListFailure fails the lists of the cache.
	ListFailure Failure = "list"
	// TransformFailure fails the decryption of values, and DecodeFailure their
	// decoding, whoever asks for them.
	TransformFailure Failure = "transform"
	DecodeFailure    Failure = "decode"
)
