package faults

import "context"

func serverKinds() []Kind {
	return []Kind{{
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
			return "", surface.BreakWatch(fault.Server)
		},
	}}
}
