// Command finding-14 shows that a watch of kine is told of progress up to a revision that is older than
// events it has been sent. It ends with code 1 if the bug shows, 0 if not, and 2 if it could not run.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/k3s-io/kine/pkg/server"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/watchsim/watchsim/docs/findings/reproducers/kine/database"
)

const (
	patience = 20 * time.Second
	writers  = 4
)

func main() {
	backwards, heard, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if backwards == 0 {
		fmt.Printf("the bug did not show in %d progress notifications\n", heard)
		return
	}
	fmt.Printf("the bug shows: %d of %d progress notifications are older than an event before them\n", backwards, heard)
	os.Exit(1)
}

// run counts progress notifications, and those that are older than an event before them.
func run() (backwards, heard int, err error) {
	backend, stop, err := database.Start()
	if err != nil {
		return 0, 0, err
	}
	defer stop()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, 0, err
	}
	service := grpc.NewServer()
	server.New(backend, "http", 5*time.Second, "3.6.11").Register(service)
	go func() { _ = service.Serve(listener) }()
	defer service.Stop()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{listener.Addr().String()}})
	if err != nil {
		return 0, 0, err
	}
	defer client.Close()
	over := make(chan struct{})
	var others sync.WaitGroup
	for i := range writers {
		others.Go(func() { database.Write(backend, fmt.Sprintf("/other-%d", i), over) })
	}
	defer others.Wait()
	defer close(over)

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	watch := client.Watch(ctx, "/", clientv3.WithPrefix(), clientv3.WithProgressNotify())
	others.Go(func() {
		for ctx.Err() == nil { // as an API server does while a consistent list waits
			_ = client.RequestProgress(ctx)
			time.Sleep(time.Millisecond)
		}
	})
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
	return backwards, heard, nil
}
