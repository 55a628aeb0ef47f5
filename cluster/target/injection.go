package target

import "sync/atomic"

// Injection injects faults into an API server's reads from and writes to etcd. It
// outlives the server: a restarted one gets the same faults. The zero value injects
// nothing, and all fields may be changed at any time.
type Injection struct {
	// Lists, Transforming and Decoding make the cache's lists, the decryption of values
	// and their decoding fail.
	Lists, Transforming, Decoding atomic.Bool
	// TTL is the time to live of written objects, in seconds; 0 is for ever.
	TTL atomic.Uint64
}
