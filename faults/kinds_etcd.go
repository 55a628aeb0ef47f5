package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

func etcdKinds() []Kind {
	return []Kind{{
		Name: "compaction",
		Doc: "Compacts etcd's history at the current revision, one below it, the oldest it can, or the last that deleted an object. " +
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
	}, {
		Name: "etcd-lag",
		Doc: "Slows everything between an etcd member and the others, so that it lags behind them. " +
			"What it answers may be late and is never stale where it must be fresh; its watches miss nothing.",
		Parameters:   []Parameter{parameterMember, parameterDelay, parameterFor},
		MembersLeast: 3,
		holds:        holdsPeerLatency,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", setPeerLatency(surface, fault.Member, fault.Delay)
		},
		end: func(_ context.Context, surface Surface, fault Fault) error {
			return setPeerLatency(surface, fault.Member, 0)
		},
	}, {
		Name: "etcd-defrag",
		Doc: "Makes an etcd member rewrite its database file, during which it serves nothing. " +
			"Nobody notices but by the time it takes, which is none in a simulation whose disks are not slow.",
		Parameters: []Parameter{parameterMember},
		holds:      holdsMember,
		slow:       true,
		begin: func(ctx context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.Defragment(ctx, fault.Member)
		},
	}, {
		Name: "auto-compaction",
		Doc: "Makes an etcd member compact the history by itself: whatever is older than a period goes, once a period. " +
			"Watches and lists from before get 410 Gone and their clients recover by listing again; nothing else notices.",
		Parameters: []Parameter{parameterMember, parameterPeriod, parameterFor},
		holds:      holdsMember,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.StartCompactor(fault.Member, fault.Period)
		},
		end: func(_ context.Context, surface Surface, fault Fault) error {
			return surface.StopCompactor(fault.Member)
		},
	}, {
		Name: "stream-stall",
		Doc: "Keeps back what etcd sends on the watch streams of an API server, while other requests on the same connection are answered. " +
			"Reads that must be fresh wait, fail or go to etcd; watches catch up afterwards without a gap.",
		Parameters: []Parameter{parameterServer, parameterFor},
		holds:      holdsWatchStreams,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.HoldWatchStreams(fault.Server)
		},
		end: func(_ context.Context, surface Surface, fault Fault) error {
			return surface.ReleaseWatchStreams(fault.Server)
		},
	}, {
		Name: "stream-break",
		Doc: "Makes etcd end the watch streams of an API server, and nothing else on the same connection, with an error that passes. " +
			"The etcd client watches again from where it was, without a gap or a repetition.",
		Parameters: []Parameter{parameterServer},
		holds:      holdsNothing,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			streams, err := surface.BreakWatchStreams(fault.Server)
			if err == nil && streams == 0 {
				err = fmt.Errorf("etcd had no watch stream of %s", fault.Server)
			}
			return fmt.Sprintf("%d streams", streams), err
		},
	}, {
		Name: "progress-loss",
		Doc: "Loses the notifications by which etcd tells an API server how far its watches have come. " +
			"Reads that must be fresh go to etcd or fail, and bookmarks may stay away; events come all the same.",
		Parameters: []Parameter{parameterServer, parameterFor},
		holds:      holdsWatchStreams,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.LoseProgress(fault.Server, true)
		},
		end: func(_ context.Context, surface Surface, fault Fault) error {
			return surface.LoseProgress(fault.Server, false)
		},
	}}
}

// setPeerLatency adds a delay between a member and all others, both ways.
func setPeerLatency(surface Surface, member string, delay time.Duration) error {
	return eachOther(surface, member, func(other string) error {
		return errors.Join(surface.SetLatency(member, other, delay), surface.SetLatency(other, member, delay))
	})
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
