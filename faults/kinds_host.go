package faults

import (
	"time"

	"github.com/watchsim/watchsim/model"
)

// hostKinds are about the machines that processes run on, their disks and clocks, and the files of
// a member.
func hostKinds() []Kind {
	return []Kind{{
		Name: "slow-disk",
		Doc: "Makes each sync of an etcd member's log and database take a while. " +
			"Writes take longer and may fail with an unknown outcome, and the leader may change; no watch misses or repeats anything.",
		Parameters: []Parameter{parameterMember, parameterDelay, parameterFor},
		settles:    maxLatency, // until the last slow sync is over
		claims:     claim(func(f Fault) string { return "the disk of " + f.Member }),
		begin:      func(a action) (string, error) { return "", a.SetDiskDelay(a.Member, a.Delay) },
		end:        func(a action) error { return a.SetDiskDelay(a.Member, 0) },
	}, {
		Name: "power-loss",
		Doc: "Kills an etcd member and discards what it wrote and did not sync, all of it or some sectors; it starts again from its files after a while. " +
			"No acknowledged write is lost, revisions never go back, and every watch resumes where it was.",
		Parameters: []Parameter{parameterMember, parameterKeep, parameterDown},
		slow:       true,
		waits:      PointSync,
		begin: func(a action) (string, error) {
			lost, err := a.CutPower(a.Member, a.Keep)
			return model.Plural(lost, "sector") + " lost", err
		},
		end: func(a action) error { return a.StartMember(a.ctx, a.Member) },
	}, {
		Name: "etcd-restore",
		Doc: "Replaces the only etcd member by one restored from a snapshot of its database, with the revision raised and all older history marked compacted, or with neither. " +
			"Nothing that was committed is lost; with a bump, watches and lists from before get 410 Gone, and their clients relist.",
		Parameters: []Parameter{parameterMember, parameterBump},
		MaxMembers: 1,
		slow:       true,
		begin:      func(a action) (string, error) { return "", a.RestoreMember(a.ctx, a.Member, a.Bump) },
	}, {
		Name: "clock-jump",
		Doc: "Moves the wall clock of an etcd member or an API server forwards or back, and corrects it after a while. " +
			"Timeouts and intervals use the monotonic clock, so nothing notices.",
		Parameters: []Parameter{parameterProcess, parameterJump, parameterFor},
		claims:     claim(func(f Fault) string { return "the clock of " + f.Host }),
		begin:      func(a action) (string, error) { return "", a.SetClock(a.Host, a.Jump) },
		end:        func(a action) error { return a.SetClock(a.Host, 0) },
	}}
}

// slowKinds are about what keeps serving, or seems to: an API server whose storage is replaced, a
// member that hangs, and a machine or streams that are slow.
func slowKinds() []Kind {
	return []Kind{{
		Name: "storage-restart",
		Doc: "Replaces the storage and the cache of an API server that goes on serving, as a change of a CustomResourceDefinition does. " +
			"New requests get the new cache; watches on the old one end and are resumed without a gap.",
		Parameters: []Parameter{parameterServer},
		settles:    settleTime, // until the old storage is drained and stopped
		begin:      func(a action) (string, error) { return "", a.ReplaceStorage(a.Server) },
	}, {
		Name: "etcd-hang",
		Doc: "Makes an etcd member hang for a while: nothing that it sends or receives arrives, no sync ends, and connections stay open. " +
			"No acknowledged write is lost, reads that must be fresh wait or fail, and watches catch up without a gap.",
		Parameters: []Parameter{parameterMember, parameterFor},
		maxLasts:   maxHang,
		settles:    time.Second, // while the member catches up
		begin:      func(a action) (string, error) { return "", a.Hang(a.Member, true) },
		end:        func(a action) error { return a.Hang(a.Member, false) },
	}, {
		Name: "slow-host",
		Doc: "Delays everything that one process sends or receives, to and from all others, for up to most of a run. " +
			"Requests take longer; nothing is lost or reordered within a stream, and nobody waits for the slow one but those who use it.",
		Parameters: []Parameter{parameterProcess, parameterDelay, parameterFor},
		maxLasts:   maxSlowHost,
		claims:     claim(func(f Fault) string { return "the pace of " + f.Host }),
		begin:      func(a action) (string, error) { return "", a.SlowHost(a.Host, a.Delay) },
		end:        func(a action) error { return a.SlowHost(a.Host, 0) },
	}, {
		Name: "stream-throttle",
		Doc: "Limits what etcd sends on the watch streams of an API server, while other requests on the same connection are answered at full speed. " +
			"Reads that must be fresh wait, fail or go to etcd; watches fall behind and catch up without a gap.",
		Parameters: []Parameter{parameterServer, parameterStreamRate, parameterFor},
		claims:     claimsWatchStreams,
		begin:      func(a action) (string, error) { return "", a.ThrottleWatchStreams(a.Server, a.Rate) },
		end:        func(a action) error { return a.ThrottleWatchStreams(a.Server, 0) },
	}}
}

// maxHang is longer than an election plus the TCP retransmissions until then.
const maxHang = 4 * time.Second

// maxSlowHost is longer than the faults of most runs take together: one machine may be slower than
// the others all the time.
const maxSlowHost = 2 * time.Minute
