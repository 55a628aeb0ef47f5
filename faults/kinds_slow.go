package faults

import "time"

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
