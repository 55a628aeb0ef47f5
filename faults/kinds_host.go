package faults

import "github.com/watchsim/watchsim/model"

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
