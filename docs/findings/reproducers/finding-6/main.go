// Finding 6: a watch whose context ends before etcd has confirmed it stays on the server
// until its next event, and so do the client's stream and goroutine.
package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const watchers = "etcd_debugging_mvcc_watcher_total"

func main() {
	rounds := flag.Int("rounds", 20, "how many watches to close before etcd has confirmed them")
	flag.Parse()
	address := rig.StartEtcd()
	relay := rig.NewRelay(address)
	client := rig.Client(relay.Address)
	rig.Value(client.Get(context.Background(), "/connect"))
	for round := range *rounds {
		ctx, cancel := context.WithCancel(context.Background())
		relay.Hold() // delays the confirmation
		closed := make(chan struct{})
		go func() {
			rig.Discard(client.Watch(ctx, fmt.Sprint("/idle/", round), clientv3.WithPrefix()))
			close(closed)
		}()
		time.Sleep(100 * time.Millisecond)
		cancel()
		<-closed
		relay.Release()
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(3 * time.Second)
	left := int(rig.Metric(address, watchers))
	fmt.Printf("3 s after the last of %d watches was closed: %d watches on the server, %d streams of the client\n",
		*rounds, left, rig.Goroutines("(*watchGRPCStream).run("))
	rig.Put(client, "/idle/0", "1")
	time.Sleep(time.Second)
	fmt.Printf("after an event for the first of them: %v watches on the server\n", rig.Metric(address, watchers))
	rig.Verdict(left, *rounds, "an abandoned watch stays on the server")
}
