package faults

import (
	"context"
	"time"
)

func serverKinds() []Kind {
	kinds := []Kind{{
		Name: "apiserver-restart",
		Doc: "Stops an API server in an orderly way and starts it again. " +
			"Its clients' streams end and are resumed; nothing they saw is taken back.",
		Parameters: []Parameter{parameterServer},
		holds:      holdsServer,
		slow:       true,
		begin: func(ctx context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.RestartServer(ctx, fault.Server)
		},
	}, {
		Name: "apiserver-crash",
		Doc: "Kills an API server and starts it again after a while. " +
			"Writes under way took effect once or never; its clients resume without a gap.",
		Parameters: []Parameter{parameterServer, parameterDown},
		holds:      holdsServer,
		slow:       true,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.CrashServer(fault.Server)
		},
		end: func(ctx context.Context, surface Surface, fault Fault) error {
			return surface.StartServer(ctx, fault.Server)
		},
	}, {
		Name: "watch-break",
		Doc: "Fails the upstream watch of an API server's cache, which lists again and starts afresh. " +
			"Streams end or go on, but none misses an event in between.",
		Parameters: []Parameter{parameterServer},
		holds:      holdsServer,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.BreakWatch(fault.Server, WatchExpired)
		},
	}, {
		Name: "watch-close",
		Doc: "Ends the upstream watch of an API server's cache without an error, as a timeout would. " +
			"The cache watches from where it was, or lists again; no stream misses an event in between.",
		Parameters: []Parameter{parameterServer},
		holds:      holdsServer,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.BreakWatch(fault.Server, WatchClosed)
		},
	}, {
		Name: "watch-error",
		Doc: "Fails the upstream watch of an API server's cache with an internal error. " +
			"The cache watches from where it was, or lists again; no stream misses an event in between.",
		Parameters: []Parameter{parameterServer},
		holds:      holdsServer,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.BreakWatch(fault.Server, WatchFailed)
		},
	}}
	kinds = append(kinds,
		failureKind("list-failure", ListFailure, "Fails the lists of an API server's cache. "+
			"One that is about to start afresh stays unready meanwhile and recovers afterwards; others do not notice."),
		failureKind("decode-failure", DecodeFailure, "Makes values from etcd impossible to decode for an API server. "+
			"Reads and writes of them fail and the cache falls behind, but nothing that was stored is passed over."),
		failureKind("transform-failure", TransformFailure, "Makes values from etcd impossible to decrypt for an API server. "+
			"Reads and writes of them fail and the cache falls behind, but nothing that was stored is passed over."),
	)
	return append(kinds, Kind{
		Name: "expiring-writes",
		Doc: "Gives objects that an API server writes a time to live, so that etcd deletes them when their leases expire. " +
			"Their deletions are changes like any other.",
		Parameters: []Parameter{parameterServer, parameterTTL, parameterFor},
		settles:    (ttlMost + 1) * time.Second, // until the last objects have expired
		holds:      holdsUpstream,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.Expire(fault.Server, fault.TTL)
		},
		end: func(_ context.Context, surface Surface, fault Fault) error { return surface.Expire(fault.Server, 0) },
	}, Kind{
		Name: "apiserver-unreachable",
		Doc: "Cuts the clients of an API server off and accepts no more of them, while its cache goes on. " +
			"Some of them turn to another server; they resume without a gap wherever they go.",
		Parameters: []Parameter{parameterServer, parameterFor},
		holds:      holdsServer,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.Refuse(fault.Server, true)
		},
		end: func(_ context.Context, surface Surface, fault Fault) error {
			return surface.Refuse(fault.Server, false)
		},
	})
}

// failureLastsMost bounds drawn failures: whoever reads waits longer from attempt
// to attempt, and is not to wait on when the failure is long over.
const failureLastsMost = 3 * time.Second

// failureKind is a kind that fails what an API server reads from etcd.
func failureKind(name string, what Failure, doc string) Kind {
	return Kind{
		Name: name, Doc: doc,
		Parameters: []Parameter{parameterServer, parameterFor},
		lastsMost:  failureLastsMost,
		holds:      holdsUpstream,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.Fail(fault.Server, what, true)
		},
		end: func(_ context.Context, surface Surface, fault Fault) error {
			return surface.Fail(fault.Server, what, false)
		},
	}
}
