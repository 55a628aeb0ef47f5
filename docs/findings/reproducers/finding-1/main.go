// Finding 1 in etcd alone: a watch receives a progress notification for a revision before
// the event of that revision. If the connection breaks then, the client resumes after
// the revision, and the event is never delivered.
package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

func main() {
	rounds := flag.Int("rounds", 1500, "how often a watch is opened while progress is requested")
	cuts := flag.Int("cuts", 3, "in how many of the rounds with the bug to break the connection as well")
	patience := flag.Duration("patience", 5*time.Second, "how long to wait for the event after the connection broke")
	flag.Parse()

	address := rig.StartEtcd()
	relay := rig.NewRelay(address)
	writer, client := rig.Client(address), rig.Client(relay.Address)
	ctx := context.Background()
	// A watch that never ends keeps the stream open, as a cache's previous watch does
	// while it still exists at etcd.
	go rig.Discard(client.Watch(ctx, "old"))
	time.Sleep(200 * time.Millisecond)

	early, cut, lost := 0, 0, 0
	for round := range *rounds {
		key := fmt.Sprintf("new/%d", round)
		revision := rig.Put(writer, key, "1")
		watching, cancel := context.WithCancel(ctx)
		rig.Must(client.RequestProgress(ctx))
		watch := client.Watch(watching, key, clientv3.WithRev(revision))
		first := <-watch
		if first.IsProgressNotify() && first.Header.Revision >= revision {
			early++
			if early <= 3 {
				fmt.Printf("round %d: the watch from revision %d got progress %d before its event\n", round, revision, first.Header.Revision)
			}
			if cut < *cuts {
				cut++
				relay.Cut()
				if !delivers(watch, *patience) {
					lost++
					fmt.Printf("round %d: the connection broke, and the event of revision %d did not come in %v\n", round, revision, *patience)
				}
			}
		}
		cancel()
	}
	fmt.Printf("%d of %d watches got progress before their event; of %d whose connection broke then, %d lost it\n", early, *rounds, cut, lost)
	rig.Verdict(early, *rounds, "progress overtook the event of a new watch")
}

// delivers reports whether a watch delivers an event within the given time.
func delivers(watch clientv3.WatchChan, patience time.Duration) bool {
	deadline := time.After(patience)
	for {
		select {
		case response, open := <-watch:
			if !open || len(response.Events) > 0 {
				return open
			}
		case <-deadline:
			return false
		}
	}
}
