// Finding 5: a caller of GetStream that stops reading before the end leaks a goroutine
// and the responses it holds, although it cancels its context and closes the client.
package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

func main() {
	rounds := flag.Int("rounds", 50, "how many streams to abandon")
	flag.Parse()
	address := rig.StartEtcd()
	client := rig.Client(address)
	for i := range 400 { // several chunks: the first has 10 keys, and the next aim at 1.5 MiB
		rig.Put(client, fmt.Sprintf("/keys/%d", i), strings.Repeat("x", 20<<10))
	}
	before := rig.Heap()
	for range *rounds {
		ctx, cancel := context.WithCancel(context.Background())
		chunks := rig.Value(client.GetStream(ctx, "/keys/", clientv3.WithPrefix()))
		first := <-chunks
		rig.Must(first.Err())
		time.Sleep(20 * time.Millisecond) // the time it takes to fail to decode an object
		cancel()
	}
	rig.Must(client.Close())
	time.Sleep(2 * time.Second)
	leaked := rig.Goroutines("(*kv).GetStream")
	fmt.Printf("%d of %d goroutines remain 2 s after their contexts were cancelled and the client was closed; the heap grew by %d KiB\n",
		leaked, *rounds, (rig.Heap()-before)>>10)
	rig.Verdict(leaked, *rounds, "a goroutine that never ends")
}
