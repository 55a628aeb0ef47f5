// Command finding-14 shows that kine sends a watch progress notifications that are older than events
// before them. Its exit code is 1 if the bug shows, 0 if not, and 2 if it cannot run.
package main

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchsim/watchsim/docs/findings/reproducers/kine/rig"
)

const (
	patience = 20 * time.Second
	writers  = 4
)

func main() {
	backwards, heard := run()
	rig.Verdict(backwards, heard, "a progress notification is older than an event before it")
}

// run counts all progress notifications, and those that are older than an event before them.
func run() (backwards, heard int) {
	backend, stop := rig.Start()
	defer stop()
	address, end := rig.Serve(backend)
	defer end()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{address}})
	rig.Must(err)
	defer client.Close()
	defer rig.Writers(backend, "/other-", writers)()

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	watch := client.Watch(ctx, "/", clientv3.WithPrefix(), clientv3.WithProgressNotify())
	go func() {
		for ctx.Err() == nil { // as an API server does while a consistent list waits
			_ = client.RequestProgress(ctx)
			time.Sleep(time.Millisecond)
		}
	}()
	newest := int64(0)
	for answer := range watch {
		if answer.IsProgressNotify() {
			heard++
			if answer.Header.Revision < newest {
				if backwards++; backwards <= 3 {
					fmt.Printf("an event of revision %d, and then: progress up to revision %d\n", newest, answer.Header.Revision)
				}
			}
		}
		for _, event := range answer.Events {
			newest = event.Kv.ModRevision
		}
	}
	return backwards, heard
}
