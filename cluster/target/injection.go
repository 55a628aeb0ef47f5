package target

import "sync/atomic"

// Injection is what is wrong with what an API server reads from etcd and writes to
// it. It outlives the server: one that is started again meets the same. The zero
// value injects nothing, and all fields may be changed at any time.
type Injection struct {
	// Lists, Transforming and Decoding fail the lists of the cache, the decryption
	// of values, and their decoding.
	Lists, Transforming, Decoding atomic.Bool
	// TTL is the time to live of objects that are written, in seconds; 0 is for
	// ever.
	TTL atomic.Uint64
}
