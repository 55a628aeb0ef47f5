package faults

import "time"

// serverKinds are about API servers and the clients that read from them.
func serverKinds() []Kind {
	return []Kind{{
		Name: "apiserver-restart",
		Doc: "Stops an API server gracefully and starts it again. " +
			"Its clients' streams end and are resumed; nothing they saw is taken back.",
		Parameters: []Parameter{parameterServer},
		slow:       true,
		switches:   true,
		begin:      func(a action) (string, error) { return "", a.RestartServer(a.ctx, a.Server) },
	}, {
		Name: "apiserver-crash",
		Doc: "Kills an API server and starts it again after a while. " +
			"Writes in flight took effect once or never; its clients resume without a gap.",
		Parameters: []Parameter{parameterServer, parameterDown},
		slow:       true,
		switches:   true,
		begin:      func(a action) (string, error) { return "", a.CrashServer(a.Server) },
		end:        func(a action) error { return a.StartServer(a.ctx, a.Server) },
	}, watchKind("watch-break", WatchExpired,
		"Fails the upstream watch of an API server's cache with 410 Gone, so that the cache relists and reinitialises. "+
			"Streams end or go on, but none misses an event in between."),
		watchKind("watch-close", WatchClosed,
			"Ends the upstream watch of an API server's cache without an error, as a timeout would. "+
				"The cache resumes its watch or relists; no stream misses an event in between."),
		watchKind("watch-error", WatchFailed,
			"Fails the upstream watch of an API server's cache with an internal error. "+
				"The cache resumes its watch or relists; no stream misses an event in between."),
		failureKind("list-failure", ListFailure, "Fails the lists of an API server's cache. "+
			"A cache that is about to reinitialise stays unready meanwhile and recovers afterwards; others do not notice."),
		failureKind("decode-failure", DecodeFailure, "Makes values from etcd impossible to decode for an API server. "+
			"Reads and writes of them fail and the cache falls behind, but nothing that was stored is skipped."),
		failureKind("transform-failure", TransformFailure, "Makes values from etcd impossible to decrypt for an API server, as an outage of its key service does. "+
			"Reads and writes of them fail and the cache falls behind, but nothing that was stored is skipped."),
		{
			Name: "expiring-writes",
			Doc: "Gives objects that an API server writes a time to live, so that etcd deletes them when their leases expire. " +
				"Their deletions are changes like any other.",
			Parameters: []Parameter{parameterServer, parameterTTL, parameterFor},
			settles:    maxTTL + time.Second, // until the last objects have expired
			claims:     claimsUpstream,
			begin:      func(a action) (string, error) { return "", a.Expire(a.Server, a.TTL) },
			end:        func(a action) error { return a.Expire(a.Server, 0) },
		}, {
			Name: "apiserver-unreachable",
			Doc: "Disconnects the clients of an API server and refuses new connections, while its cache goes on. " +
				"Some clients turn to another server; they resume without a gap wherever they go.",
			Parameters: []Parameter{parameterServer, parameterFor},
			switches:   true,
			begin:      func(a action) (string, error) { return "", a.Refuse(a.Server, true) },
			end:        func(a action) error { return a.Refuse(a.Server, false) },
		}, {
			Name: "certificate-expiry",
			Doc: "Lets the certificate of an API server expire and disconnects its clients, none of which accepts it until it is renewed, by a restart of the server at the latest. " +
				"Some clients turn to another server; they resume without a gap wherever they go.",
			Parameters: []Parameter{parameterCertified, parameterFor},
			switches:   true,
			begin:      func(a action) (string, error) { return "", a.ExpireCertificate(a.Server, true) },
			end:        func(a action) error { return a.ExpireCertificate(a.Server, false) },
		}, {
			Name: "slow-consumer",
			Doc: "Makes a client take its time over each event. " +
				"Its own streams may end because they fell behind; no other client waits for it.",
			Parameters: []Parameter{parameterClient, parameterConsumerDelay, parameterFor},
			claims:     claimsPace,
			begin:      func(a action) (string, error) { return "", a.SlowConsumer(a.Client, a.Delay) },
			end:        func(a action) error { return a.HealConsumer(a.Client) },
		}, {
			Name: "stalled-consumer",
			Doc: "Makes a client stop reading its streams. " +
				"Its own streams may end because they fell behind; no other client waits for it.",
			Parameters: []Parameter{parameterClient, parameterFor},
			claims:     claimsPace,
			begin:      func(a action) (string, error) { return "", a.StallConsumer(a.Client) },
			end:        func(a action) error { return a.HealConsumer(a.Client) },
		}}
}

// watchKind is a kind that ends the upstream watch of a cache.
func watchKind(name string, how WatchEnd, doc string) Kind {
	return Kind{
		Name: name, Doc: doc,
		Parameters: []Parameter{parameterServer},
		begin:      func(a action) (string, error) { return "", a.BreakWatch(a.Server, how) },
	}
}

// failureKind is a kind that fails an API server's reads from etcd. Readers back off longer from
// attempt to attempt; a bound keeps them from waiting long after the failure is over.
func failureKind(name string, what Failure, doc string) Kind {
	return Kind{
		Name: name, Doc: doc,
		Parameters: []Parameter{parameterServer, parameterFor},
		maxLasts:   3 * time.Second,
		claims:     claimsUpstream,
		begin:      func(a action) (string, error) { return "", a.Fail(a.Server, what, true) },
		end:        func(a action) error { return a.Fail(a.Server, what, false) },
	}
}
