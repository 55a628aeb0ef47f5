package faults

import (
	"context"
	"time"
)

// Surface is the simulated cluster that faults act on. Processes, which are etcd members,
// API servers and clients, are identified by their names.
//
// A method that takes a context may take simulated time and returns soon after the context is done;
// the others return at once. All may be called concurrently. Healing what is not broken does
// nothing.
type Surface interface {
	// Members are the names of etcd's members, in a fixed order.
	Members() []string

	// Await arms a point: the number-th operation to reach it from now on waits until its gate is
	// released.
	Await(point, process string, number int) Gate

	// Compact compacts etcd's history at the revision that lies back below the
	// current one, or at the one that OldestKept or LastDeletion names, and returns
	// that revision. It fails if the history is compacted there already.
	Compact(ctx context.Context, back int64) (revision int64, err error)

	// RestartMember stops a member gracefully and starts it again.
	RestartMember(ctx context.Context, member string) error
	// CrashMember kills a member: what it had not synced to disk is lost.
	CrashMember(member string) error
	// StartMember starts a crashed member from its files. It may wait for the
	// member to find a quorum, so members that need each other start together.
	StartMember(ctx context.Context, member string) error
	// MoveLeader makes another member the leader, and returns the old and the new one.
	MoveLeader(ctx context.Context) (from, to string, err error)

	// SetDiskDelay makes each sync of a member's files take that long; 0 heals it.
	SetDiskDelay(member string, delay time.Duration) error
	// CutPower kills a member and cuts the power of its disk, which keeps some or none of
	// the unsynced writes. It returns how many sectors were lost: none unless an operation
	// of that member waits at PointSync, as otherwise no sync is in flight.
	CutPower(member string, keep Keep) (lost int, err error)
	// RestoreMember replaces a member by one that starts from a snapshot of its database,
	// with a new log. The revision is raised by bump, and all older history is marked
	// compacted; with a bump of 0, neither happens.
	RestoreMember(ctx context.Context, member string, bump int64) error
	// SetClock sets the wall clock of a process ahead of the others; 0 heals it.
	SetClock(process string, ahead time.Duration) error

	// Hang makes a member hang, or resume: what it sends and receives is withheld, and its syncs do
	// not end. Its timers keep running.
	Hang(member string, hang bool) error

	// Defragment makes a member rewrite its database file.
	Defragment(ctx context.Context, member string) error
	// StartCompactor makes a member run etcd's own periodic compactor, which keeps
	// a period of history, and StopCompactor ends it.
	StartCompactor(member string, period time.Duration) error
	StopCompactor(member string) error

	// HoldWatchStreams withholds what etcd members send on the watch streams of an API
	// server, or delivers it.
	HoldWatchStreams(server string, hold bool) error
	// ThrottleWatchStreams limits what etcd members send on the watch streams of an API
	// server, all of them together, in bytes per second; 0 heals it.
	ThrottleWatchStreams(server string, rate int64) error
	// LoseProgress starts or stops dropping the progress notifications for an API server.
	LoseProgress(server string, lose bool) error
	// BreakWatchStreams makes etcd's members end the watch streams of an API server
	// with an error that tells a client to try again, and returns how many there were.
	BreakWatchStreams(server string) (streams int, err error)

	// SetLatency adds delay to everything sent from one process to another; 0
	// heals it.
	SetLatency(from, to string, delay time.Duration) error
	// SlowHost adds delay to everything that a process sends or receives; 0 heals it.
	SlowHost(process string, delay time.Duration) error
	// SetRate limits what two processes send each other, in bytes per second and
	// direction; 0 heals it.
	SetRate(one, other string, rate int64) error
	// Partition stops all traffic between two processes. Connections stay open and
	// silent, and what was sent arrives after healing.
	Partition(one, other string) error
	// PartitionOneWay is like Partition, in one direction.
	PartitionOneWay(from, to string) error
	// BlackHole drops what one process sends to another. A connection that has lost data
	// never delivers again.
	BlackHole(from, to string) error
	// HealLink ends partitions and black holes between two processes, in both directions.
	HealLink(one, other string) error
	// Reset resets the open connections between two processes, and returns how many there
	// were.
	Reset(one, other string) (connections int, err error)

	// RestartServer stops an API server gracefully and starts it again.
	RestartServer(ctx context.Context, server string) error
	// CrashServer kills an API server.
	CrashServer(server string) error
	// StartServer starts a crashed API server. It does not wait until its cache is ready.
	StartServer(ctx context.Context, server string) error
	// ReplaceStorage gives a server that keeps serving a new storage and cache.
	ReplaceStorage(server string) error
	// BreakWatch ends the current upstream watch of a server's cache.
	BreakWatch(server string, how WatchEnd) error
	// Fail starts or stops failing what a server reads from etcd.
	Fail(server string, what Failure, fails bool) error
	// Expire gives the objects that a server writes from now on a time to live; with 0,
	// they do not expire.
	Expire(server string, ttl time.Duration) error
	// Refuse closes the connections of a server's clients and accepts no new ones, or
	// accepts them again. The server keeps running.
	Refuse(server string, refuse bool) error
	// ExpireCertificate closes the connections of a server's clients and has it show a certificate
	// that has expired to those that connect, or one that is valid again.
	ExpireCertificate(server string, expired bool) error

	Consumers
	Programs
}

// Consumers are the clients whose reading faults can slow down.
type Consumers interface {
	// SlowConsumer makes a client take delay for each event it reads.
	SlowConsumer(client string, delay time.Duration) error
	// StallConsumer makes a client stop reading its streams.
	StallConsumer(client string) error
	// HealConsumer restores a client's own pace.
	HealConsumer(client string) error
}

// Programs are clients that faults can crash and restart, and whose requests and watches they can
// disturb.
type Programs interface {
	// CrashProgram kills a program that uses the cluster.
	CrashProgram(program string) error
	// StopProgram tells a program to stop, as SIGTERM does. It does not wait until that has ended.
	StopProgram(program string) error
	// StartProgram starts a program that has crashed or was told to stop. If it has not ended, it is killed first.
	StartProgram(program string) error
	// StallWatches withholds what the watches of a program receive, all of them or those of some
	// resources (see [Selects]), and returns the resources of the open ones.
	StallWatches(program, watches string) (withheld []string, err error)
	// ResumeWatches delivers what was withheld.
	ResumeWatches(program string) error
	// LagWatches delivers what the watches of a program receive only at intervals of at most every,
	// which differ from resource to resource. With 0 it is delivered at once.
	LagWatches(program string, every time.Duration) error
	// EndWatches ends the watches of a program, all of them or those of some resources, and returns how many there were.
	EndWatches(program, watches string) (ended int, err error)
	// DelayRequests adds up to delay to the time of each request of a program for the resources that [Selects] selects, before
	// or after an API server handles it. With 0 nothing waits any longer.
	DelayRequests(program, resources string, delay time.Duration) error
	// FailRequests makes one request in oneIn of a program fail with that status code, at random; 0 heals it.
	FailRequests(program string, code int, oneIn int64) error
}

// Gate is an armed point, where one operation waits when it arrives.
type Gate interface {
	// Reached is closed when the operation is there.
	Reached() <-chan struct{}
	// Release lets the operation go on, or pass if it has not arrived. It may be
	// called more than once.
	Release()
}

// MaxGateWait is the longest that an operation waits at its point.
const MaxGateWait = 2 * time.Second

// WatchEnd is how the upstream watch of a cache ends.
type WatchEnd string

const (
	// WatchExpired is 410 Gone: the watch's resourceVersion has been compacted.
	WatchExpired WatchEnd = "expired"
	// WatchFailed is an internal error, as of an event that cannot be decoded.
	WatchFailed WatchEnd = "failed"
	// WatchClosed is an end without an error.
	WatchClosed WatchEnd = "closed"
)

// Keep is which unsynced writes a disk keeps when its power fails.
type Keep string

const (
	// KeepNothing discards every unsynced write.
	KeepNothing Keep = "nothing"
	// KeepSome keeps a random subset of the written sectors: later writes may survive
	// where earlier ones are lost, and records may be torn.
	KeepSome Keep = "some"
)

// Failure is a way in which reading from etcd fails.
type Failure string

const (
	// ListFailure fails the lists of the cache.
	ListFailure Failure = "list"
	// TransformFailure fails the decryption of values, and DecodeFailure their decoding, for all
	// readers.
	TransformFailure Failure = "transform"
	DecodeFailure    Failure = "decode"
)
