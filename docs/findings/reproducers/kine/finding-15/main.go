// Command finding-15 shows that a list with a limit is answered by kine with a revision that is newer than
// the list, if it is streamed. It ends with code 1 if the bug shows, 0 if not, and 2 if it could not run.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/k3s-io/kine/pkg/server"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/watchsim/watchsim/docs/findings/reproducers/kine/database"
)

const (
	rounds  = 300
	keys    = 4 // that are written to meanwhile
	perPage = 2
)

func main() {
	wrong, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if wrong == 0 {
		fmt.Printf("the bug did not show in %d rounds\n", rounds)
		return
	}
	fmt.Printf("the bug shows: a streamed list is older than its revision in %d of %d rounds\n", wrong, rounds)
	os.Exit(1)
}

// run counts the lists that are not what there was at the revision that they name.
func run() (wrong int, err error) {
	backend, stop, err := database.Start()
	if err != nil {
		return 0, err
	}
	defer stop()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	service := grpc.NewServer()
	server.New(backend, "http", 5*time.Second, "3.6.11").Register(service)
	go func() { _ = service.Serve(listener) }()
	defer service.Stop()
	connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return 0, err
	}
	defer connection.Close()
	client := etcdserverpb.NewKVClient(connection)
	over := make(chan struct{})
	var others sync.WaitGroup
	for i := range keys {
		others.Go(func() { database.Write(backend, fmt.Sprintf("/key-%d", i), over) })
	}
	defer others.Wait()
	defer close(over)

	time.Sleep(time.Second) // until all keys exist
	ctx := context.Background()
	for range rounds {
		listed, err := stream(ctx, client)
		if err != nil {
			return wrong, err
		}
		then, err := client.Range(ctx, &etcdserverpb.RangeRequest{Key: []byte("/key-"), RangeEnd: []byte("/key."), Limit: perPage, Revision: listed.Header.Revision})
		if err != nil {
			return wrong, err
		}
		if a, b := describe(listed.Kvs), describe(then.Kvs); a != b {
			if wrong++; wrong <= 3 {
				fmt.Printf("a streamed list names revision %d and has %s; at that revision there was %s\n", listed.Header.Revision, a, b)
			}
		}
	}
	return wrong, nil
}

// stream asks for the first page of a list as a stream, and puts it together.
func stream(ctx context.Context, client etcdserverpb.KVClient) (*etcdserverpb.RangeResponse, error) {
	request := &etcdserverpb.RangeRequest{Key: []byte("/key-"), RangeEnd: []byte("/key."), Limit: perPage}
	chunks, err := client.RangeStream(ctx, request)
	if err != nil {
		return nil, err
	}
	var whole etcdserverpb.RangeResponse
	for whole.Header == nil {
		chunk, err := chunks.Recv()
		if err != nil {
			return nil, err
		}
		whole.Header = chunk.RangeResponse.Header
		whole.Kvs = append(whole.Kvs, chunk.RangeResponse.Kvs...)
	}
	return &whole, nil
}

func describe(pairs []*mvccpb.KeyValue) string {
	text := ""
	for i, pair := range pairs {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s of revision %d", pair.Key, pair.ModRevision)
	}
	return text
}
