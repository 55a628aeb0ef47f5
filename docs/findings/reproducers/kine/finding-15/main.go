// Command finding-15 shows that kine returns a streamed list with a limit with a revision that is newer
// than the list. Its exit code is 1 if the bug shows, 0 if not, and 2 if it cannot run.
package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/watchsim/watchsim/docs/findings/reproducers/kine/rig"
)

const (
	rounds  = 300
	keys    = 4 // that are written to concurrently
	perPage = 2
)

func main() {
	rig.Verdict(run(), rounds, "a streamed list is older than its revision")
}

// run counts the lists that differ from the state at the revision that they name.
func run() (wrong int) {
	backend, stop := rig.Start()
	defer stop()
	address, end := rig.Serve(backend)
	defer end()
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	rig.Must(err)
	defer connection.Close()
	client := etcdserverpb.NewKVClient(connection)
	defer rig.Writers(backend, "/key-", keys)()

	time.Sleep(time.Second) // until all keys exist
	ctx := context.Background()
	for range rounds {
		listed := stream(ctx, client)
		then, err := client.Range(ctx, &etcdserverpb.RangeRequest{Key: []byte("/key-"), RangeEnd: []byte("/key."), Limit: perPage, Revision: listed.Header.Revision})
		rig.Must(err)
		if a, b := describe(listed.Kvs), describe(then.Kvs); a != b {
			if wrong++; wrong <= 3 {
				fmt.Printf("a streamed list names revision %d and has %s; at that revision there was %s\n", listed.Header.Revision, a, b)
			}
		}
	}
	return wrong
}

// stream requests the first page of a list as a stream, and assembles it.
func stream(ctx context.Context, client etcdserverpb.KVClient) *etcdserverpb.RangeResponse {
	request := &etcdserverpb.RangeRequest{Key: []byte("/key-"), RangeEnd: []byte("/key."), Limit: perPage}
	chunks, err := client.RangeStream(ctx, request)
	rig.Must(err)
	var whole etcdserverpb.RangeResponse
	for whole.Header == nil {
		chunk, err := chunks.Recv()
		rig.Must(err)
		whole.Header = chunk.RangeResponse.Header
		whole.Kvs = append(whole.Kvs, chunk.RangeResponse.Kvs...)
	}
	return &whole
}

func describe(pairs []*mvccpb.KeyValue) string {
	var described []string
	for _, pair := range pairs {
		described = append(described, fmt.Sprintf("%s of revision %d", pair.Key, pair.ModRevision))
	}
	return strings.Join(described, ", ")
}
