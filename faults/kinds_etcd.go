package faults

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/watchsim/watchsim/model"
)

func etcdKinds() []Kind {
	return []Kind{{
		Name: "compaction",
		Doc: "Compacts etcd's history at the current revision, some below it, the oldest possible, or the last one that deleted an object. " +
			"Watches and lists from before it get 410 Gone, and their clients relist; nothing else notices.",
		Parameters: []Parameter{parameterRevision},
		claims:     claimsNothing,
		slow:       true,
		begin: func(a action) (string, error) {
			revision, err := a.Compact(a.ctx, a.Back)
			return fmt.Sprintf("at revision %d", revision), err
		},
	}, {
		Name: "etcd-restart",
		Doc: "Stops an etcd member gracefully and starts it again. " +
			"No acknowledged write is lost, and every watch resumes where it was.",
		Parameters: []Parameter{parameterMember},
		slow:       true,
		begin:      func(a action) (string, error) { return "", a.RestartMember(a.ctx, a.Member) },
	}, {
		Name: "etcd-crash",
		Doc: "Kills an etcd member and starts it again from its files after a while. " +
			"No acknowledged write is lost, revisions never go back, and every watch resumes where it was.",
		Parameters: []Parameter{parameterMember, parameterDown},
		slow:       true,
		begin:      func(a action) (string, error) { return "", a.CrashMember(a.Member) },
		end:        func(a action) error { return a.StartMember(a.ctx, a.Member) },
	}, {
		Name: "leader-move",
		Doc: "Moves the leadership to another etcd member. " +
			"Requests in flight may fail with an unknown outcome; no watch misses or repeats anything.",
		MinMembers: 3,
		claims:     claimsAllMembers,
		slow:       true,
		begin: func(a action) (string, error) {
			from, to, err := a.MoveLeader(a.ctx)
			return "from " + from + " to " + to, err
		},
	}, {
		Name: "quorum-loss",
		Doc: "Kills all etcd members but one and starts them again after a while. " +
			"No write succeeds meanwhile, and none that did is lost; reads that need a quorum fail rather than return stale data.",
		Parameters: []Parameter{parameterSurvivor, parameterDown},
		MinMembers: 3,
		claims:     claimsAllMembers,
		slow:       true,
		begin: func(a action) (string, error) {
			if !slices.Contains(a.Members(), a.Member) {
				return "", fmt.Errorf("expected a survivor among %v, found %q", a.Members(), a.Member)
			}
			return "", a.eachOther(a.CrashMember)
		},
		end: startOthers,
	}, {
		Name: "etcd-lag",
		Doc: "Slows all traffic between an etcd member and the others, so that it lags behind them. " +
			"Its answers may be late but are never stale where they must be fresh; its watches miss nothing.",
		Parameters: []Parameter{parameterMember, parameterDelay, parameterFor},
		MinMembers: 3,
		claims: func(fault Fault, members []string) (claimed []string) {
			for _, other := range members {
				if other != fault.Member {
					claimed = append(claimed, claimsLatency(Fault{From: fault.Member, To: other}, nil)...)
				}
			}
			return claimed
		},
		begin: func(a action) (string, error) { return "", a.setPeerLatency(a.Delay) },
		end:   func(a action) error { return a.setPeerLatency(0) },
	}, {
		Name: "etcd-defrag",
		Doc: "Makes an etcd member rewrite its database file, during which it serves nothing. " +
			"Only latency changes, and not even that while the simulated disk is fast.",
		Parameters: []Parameter{parameterMember},
		slow:       true,
		begin:      func(a action) (string, error) { return "", a.Defragment(a.ctx, a.Member) },
	}, {
		Name: "auto-compaction",
		Doc: "Turns on an etcd member's own compactor: once a period, it discards everything older than a period. " +
			"Watches and lists from before get 410 Gone, and their clients relist; nothing else notices.",
		Parameters: []Parameter{parameterMember, parameterPeriod, parameterFor},
		begin:      func(a action) (string, error) { return "", a.StartCompactor(a.Member, a.Period) },
		end:        func(a action) error { return a.StopCompactor(a.Member) },
	}, {
		Name: "stream-stall",
		Doc: "Withholds what etcd sends on the watch streams of an API server, while other requests on the same connection are answered. " +
			"Reads that must be fresh wait, fail or go to etcd; watches catch up afterwards without a gap.",
		Parameters: []Parameter{parameterServer, parameterFor},
		claims:     claimsWatchStreams,
		lags:       true,
		begin:      func(a action) (string, error) { return "", a.HoldWatchStreams(a.Server, true) },
		end:        func(a action) error { return a.HoldWatchStreams(a.Server, false) },
	}, {
		Name: "stream-break",
		Doc: "Makes etcd end the watch streams of an API server with a transient error, and nothing else on the same connection. " +
			"The etcd client resumes its watches where they were, without a gap or a duplicate.",
		Parameters: []Parameter{parameterServer},
		claims:     claimsNothing,
		begin: func(a action) (string, error) {
			streams, err := a.BreakWatchStreams(a.Server)
			if err == nil && streams == 0 {
				err = fmt.Errorf("etcd had no watch stream of %s", a.Server)
			}
			return model.Plural(streams, "stream"), err
		},
	}, {
		Name: "progress-loss",
		Doc: "Drops the progress notifications that etcd sends to an API server. " +
			"Reads that must be fresh go to etcd or fail, and bookmarks may be missing; events still arrive.",
		Parameters: []Parameter{parameterServer, parameterFor},
		claims:     claimsWatchStreams,
		begin:      func(a action) (string, error) { return "", a.LoseProgress(a.Server, true) },
		end:        func(a action) error { return a.LoseProgress(a.Server, false) },
	}}
}

// setPeerLatency adds a delay between the fault's member and all others, both ways.
func (a action) setPeerLatency(delay time.Duration) error {
	return a.eachOther(func(other string) error { return a.setLatency(a.Member, other, delay) })
}

// eachOther acts on all members but the fault's, in order. An error on one member does not keep the
// others from their turn.
func (a action) eachOther(act func(member string) error) error {
	var problems []error
	for _, other := range a.Members() {
		if other != a.Member {
			problems = append(problems, act(other))
		}
	}
	return errors.Join(problems...)
}

// startOthers starts all members but the fault's concurrently: none of them can find a quorum
// without the others.
func startOthers(a action) error {
	members := a.Members()
	problems := make([]error, len(members))
	var starting sync.WaitGroup
	for i, member := range members {
		if member != a.Member {
			starting.Go(func() { problems[i] = a.StartMember(a.ctx, member) })
		}
	}
	starting.Wait()
	return errors.Join(problems...)
}
