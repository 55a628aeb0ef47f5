// Finding 8: clients that stop their watches while the cache dispatches an event, before
// they have read all of their initial events, leak goroutines of the cache.
package main

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

const (
	objects = 50 // more than the channels of a watch hold
	watches = 50
	pending = "cacher.(*cacheWatcher).sendWatchCacheEvent"
)

func main() {
	rounds := flag.Int("rounds", 5, "how often clients open watches, do not read and stop them")
	flag.Parse()

	address := rig.StartEtcd()
	etcd := rig.Client(address)
	apiserver := store.New(address)
	write := func(i int) {
		name := fmt.Sprintf("cm-%d", i%objects)
		rig.Put(etcd, store.Prefix+name, apiserver.Encode(name, fmt.Sprint(i)))
	}
	for i := range objects {
		write(i)
	}
	seen, before := 0, 0
	for round := range *rounds {
		ctx, cancel := context.WithCancel(context.Background())
		clients := open(ctx, apiserver)
		// Once a second the cache sends the bookmark that ends the initial events to
		// watches that still wait for it.
		time.Sleep(2500 * time.Millisecond)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range objects { // the buffers of the watches fill up
				write(i)
			}
		}()
		// The cache now waits up to 100 ms for the first watch whose buffer is full.
		rig.Until(func() bool { return rig.Goroutines("cacher.(*cacheWatcher).add(") > 0 })
		var leaving sync.WaitGroup
		for _, client := range clients {
			leaving.Go(client.Stop)
		}
		leaving.Wait()
		cancel()
		<-done
		time.Sleep(3 * time.Second)
		left := rig.Goroutines(pending)
		fmt.Printf("round %d: %d of %d watches still had a goroutine 3 s after their clients had stopped them and cancelled their contexts\n", round, left-before, watches)
		if left > before {
			seen++
		}
		before = left
	}
	rig.Verdict(seen, *rounds, "goroutines of watches that nobody reads")
}

// open opens watches with initial events, as informers do, for clients that do not read.
func open(ctx context.Context, apiserver *store.Store) []watch.Interface {
	var clients []watch.Interface
	initial := true
	options := storage.ListOptions{Recursive: true, SendInitialEvents: &initial, Predicate: storage.Everything}
	options.Predicate.AllowWatchBookmarks = true
	for range watches {
		clients = append(clients, rig.Value(apiserver.Watch(ctx, "/configmaps/", options)))
	}
	return clients
}
