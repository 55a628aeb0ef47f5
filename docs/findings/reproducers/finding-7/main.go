// Finding 7: etcd sends a new watch that requested previous values an event without one,
// because it stores that option only after the watch can receive events.
package main

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

func main() {
	rounds := flag.Int("rounds", 20000, "how many watches to create")
	writers := flag.Int("writers", 4, "how many clients write concurrently")
	limit := flag.Duration("limit", 3*time.Minute, "how long it may take")
	flag.Parse()
	// More threads than cores, so that the operating system can preempt them anywhere.
	runtime.GOMAXPROCS(max(16, runtime.NumCPU()))
	address := rig.StartEtcd()
	client := rig.Client(address)
	rig.Put(client, "/key", "0")

	var written atomic.Int64
	for range *writers {
		go func() {
			for {
				rig.Put(client, "/key", fmt.Sprint(written.Add(1)))
			}
		}()
	}
	// This watch shares the stream and keeps its goroutines busy.
	go rig.Discard(client.Watch(context.Background(), "/key", clientv3.WithPrevKV()))

	seen, done := 0, 0
	for begun := time.Now(); done < *rounds && time.Since(begun) < *limit; done++ {
		ctx, cancel := context.WithCancel(context.Background())
		first := <-client.Watch(ctx, "/key", clientv3.WithPrevKV())
		rig.Must(first.Err())
		for _, event := range first.Events {
			// The key existed before the watch, and nothing is ever compacted.
			if event.PrevKv == nil {
				if seen++; seen <= 3 {
					fmt.Printf("watch %d: the event of revision %d has no previous value\n", done, event.Kv.ModRevision)
				}
				break
			}
		}
		cancel()
	}
	rig.Verdict(seen, done, "an event without the previous value that was asked for")
}
