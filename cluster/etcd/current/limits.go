package current

import (
	"sync"
	_ "unsafe" // for go:linkname
)

// Variables of etcd that its own tests set as well, and that nothing else can.
//
//go:linkname watchBatchMaxRevs go.etcd.io/etcd/server/v3/storage/mvcc.watchBatchMaxRevs
//go:linkname chanBufLen go.etcd.io/etcd/server/v3/storage/mvcc.chanBufLen
//go:linkname maxWatchersPerSync go.etcd.io/etcd/server/v3/storage/mvcc.maxWatchersPerSync
var watchBatchMaxRevs, chanBufLen, maxWatchersPerSync int

// limiting keeps members that boot at the same time from setting the limits together.
var limiting sync.Mutex

// LimitWatches implements etcd.WatchLimiter.
func (Release) LimitWatches(batch, buffer, perSync int) {
	limiting.Lock()
	defer limiting.Unlock()
	set(&watchBatchMaxRevs, batch)
	set(&chanBufLen, buffer)
	set(&maxWatchersPerSync, perSync)
}

// set sets a limit unless it has been set, as members that run read it.
func set(limit *int, value int) {
	if value > 0 && *limit != value {
		*limit = value
	}
}
