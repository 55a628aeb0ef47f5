// Finding 3: the watch of Kubernetes' cache breaks, one object changes, and etcd is
// compacted at that change. The cache retries its watch for 30 seconds. Meanwhile its
// clients receive no events, and lists at resourceVersion 0 are stale.
package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

func main() {
	rounds := flag.Int("rounds", 1, "how often to compact at each revision")
	limit := flag.Duration("limit", 15*time.Second, "how long the cache may be stale; without a compaction it takes some seconds, until the client reconnects")
	flag.Parse()

	address := rig.StartEtcd()
	relay := rig.NewRelay(address)
	etcd := rig.Client(address)
	apiserver := store.New(relay.Address)
	ctx := context.Background()
	write := func(name string) int64 {
		return rig.Put(etcd, store.Prefix+name, apiserver.Encode(name, time.Now().String()))
	}
	stale := func(revision int64) time.Duration {
		for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			if rv, _, err := apiserver.List(ctx, "0"); err == nil && rv >= revision {
				return time.Since(began)
			}
		}
	}
	write("a")
	stale(write("b"))
	seen := 0
	for range *rounds {
		for _, place := range []struct {
			name string
			at   int64 // relative to the last revision that the cache has received
		}{{"none", -1}, {"before the next change", 0}, {"at the next change", 1}, {"after the next change", 2}} {
			received := write("a")
			stale(received)
			relay.Down()
			write("a")
			last := write("b")
			if place.at >= 0 {
				rig.Value(etcd.Compact(ctx, received+place.at))
			}
			relay.Up()
			took := stale(last)
			fmt.Printf("compaction %s: the cache is stale for %v\n", place.name, took.Round(10*time.Millisecond))
			if took > *limit {
				seen++
			}
			time.Sleep(time.Second)
		}
	}
	rig.Verdict(seen, 4**rounds, fmt.Sprintf("a cache that is stale for more than %v", *limit))
}
