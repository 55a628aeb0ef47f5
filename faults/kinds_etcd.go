package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

func etcdKinds() []Kind {
	return []Kind{{
		Name: "compaction",
		Doc: "Compacts etcd's history at the current revision or one below it. " +
			"Watches and lists from before it get 410 Gone and their clients recover by listing again; nothing else notices.",
		Parameters: []Parameter{parameterRevision},
		holds:      holdsNothing,
		slow:       true,
		begin: func(ctx context.Context, surface Surface, fault Fault) (string, error) {
			revision, err := surface.Compact(ctx, fault.Back)
			return fmt.Sprintf("at revision %d", revision), err
		},
	}, {
		Name: "etcd-restart",
		Doc: "Stops an etcd member in an orderly way and starts it again. " +
			"No acknowledged write is lost and every watch goes on where it was.",
		Parameters: []Parameter{parameterMember},
		holds:      holdsMember,
		slow:       true,
		begin: func(ctx context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.RestartMember(ctx, fault.Member)
		},
	}, {
		Name: "etcd-crash",
		Doc: "Kills an etcd member and starts it again from its files after a while. " +
			"No acknowledged write is lost, revisions never go back, and every watch goes on where it was.",
		Parameters: []Parameter{parameterMember, parameterDown},
		holds:      holdsMember,
		slow:       true,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.CrashMember(fault.Member)
		},
		end: func(ctx context.Context, surface Surface, fault Fault) error {
			return surface.StartMember(ctx, fault.Member)
		},
	}, {
		Name: "leader-move",
		Doc: "Makes another etcd member the leader. " +
			"Requests under way may fail as unknown; no watch misses or repeats anything.",
		MembersLeast: 3,
		holds:        holdsAllMembers,
		slow:         true,
		begin: func(ctx context.Context, surface Surface, _ Fault) (string, error) {
			from, to, err := surface.MoveLeader(ctx)
			return "from " + from + " to " + to, err
		},
	}, {
		Name: "quorum-loss",
		Doc: "Kills all etcd members but one and starts them again after a while. " +
			"No write succeeds meanwhile and none that did is lost; reads that need a quorum fail rather than answer stale.",
		Parameters:   []Parameter{parameterSurvivor, parameterDown},
		MembersLeast: 3,
		holds:        holdsAllMembers,
		slow:         true,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			if !slices.Contains(surface.Members(), fault.Member) {
				return "", fmt.Errorf("expected a survivor among %v, found %q", surface.Members(), fault.Member)
			}
			return "", eachOther(surface, fault.Member, surface.CrashMember)
		},
		end: func(ctx context.Context, surface Surface, fault Fault) error {
			return startTogether(ctx, surface, fault.Member)
		},
	}}
}

// eachOther acts on all members but one, in order. An error on one member keeps
// no other from its turn.
func eachOther(surface Surface, member string, act func(string) error) error {
	var problems []error
	for _, other := range surface.Members() {
		if other != member {
			problems = append(problems, act(other))
		}
	}
	return errors.Join(problems...)
}

// startTogether starts all members but one at once: none of them might find a
// quorum without the others.
func startTogether(ctx context.Context, surface Surface, survivor string) error {
	members := surface.Members()
	problems := make([]error, len(members))
	var starting sync.WaitGroup
	for i, member := range members {
		if member != survivor {
			starting.Go(func() { problems[i] = surface.StartMember(ctx, member) })
		}
	}
	starting.Wait()
	return errors.Join(problems...)
}
