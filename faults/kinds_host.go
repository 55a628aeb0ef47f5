package faults

import (
	"context"
	"fmt"
)

// hostKinds are about the machines that processes run on: disks and clocks, and what
// is done to the files of a member.
func hostKinds() []Kind {
	return []Kind{{
		Name: "slow-disk",
		Doc: "Makes each sync of an etcd member's log and database take a while. " +
			"Writes take longer and may fail as unknown, and another member may become the leader; no watch misses or repeats anything.",
		Parameters: []Parameter{parameterMember, parameterDelay, parameterFor},
		settles:    latencyMost, // until the last slow sync is over
		holds:      holdsDisk,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.SetDiskDelay(fault.Member, fault.Delay)
		},
		end: func(_ context.Context, surface Surface, fault Fault) error {
			return surface.SetDiskDelay(fault.Member, 0)
		},
	}, {
		Name: "power-loss",
		Doc: "Kills an etcd member, and with it what it wrote and did not sync, in whole or some sectors of it; it starts again from its files after a while. " +
			"No acknowledged write is lost, revisions never go back, and every watch goes on where it was.",
		Parameters: []Parameter{parameterMember, parameterKeep, parameterDown},
		holds:      holdsMember,
		slow:       true,
		waits:      PointSync,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			lost, err := surface.CutPower(fault.Member, fault.Keep)
			return fmt.Sprintf("%d sectors lost", lost), err
		},
		end: func(ctx context.Context, surface Surface, fault Fault) error {
			return surface.StartMember(ctx, fault.Member)
		},
	}, {
		Name: "etcd-restore",
		Doc: "Stops an etcd member that is alone and starts one that was restored from a snapshot of its database, with the revision raised and all older history marked compacted, or with neither. " +
			"Nothing that was committed is lost; with a bump, watches and lists from before get 410 Gone and their clients recover by listing again.",
		Parameters:  []Parameter{parameterMember, parameterBump},
		MembersMost: 1,
		holds:       holdsMember,
		slow:        true,
		begin: func(ctx context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.RestoreMember(ctx, fault.Member, fault.Bump)
		},
	}, {
		Name: "clock-jump",
		Doc: "Moves the wall clock of an etcd member or an API server forwards or back, and sets it right after a while. " +
			"What a process measures or waits for goes by another clock, so nothing notices.",
		Parameters: []Parameter{parameterProcess, parameterJump, parameterFor},
		holds:      holdsClock,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.SetClock(fault.Host, fault.Jump)
		},
		end: func(_ context.Context, surface Surface, fault Fault) error {
			return surface.SetClock(fault.Host, 0)
		},
	}}
}
