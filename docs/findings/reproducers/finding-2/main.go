// Finding 2: etcd's client panics with "send on closed channel" when a response for all
// watches of a stream follows the confirmation that one of them is canceled. The server
// speaks etcd's watch protocol and sends only what etcd sends, with the worst timing.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// A panic of the client ends the process, so the rounds run in a child.
const inChild = "FINDING_2_CHILD"

func main() {
	rounds := flag.Int("rounds", 200000, "how many watches to open and cancel")
	flag.Parse()
	if os.Getenv(inChild) != "" {
		cancelWatches(*rounds)
		return
	}
	self := rig.Value(os.Executable())
	child := exec.Command(self, os.Args[1:]...)
	child.Env = append(os.Environ(), inChild+"=1")
	began := time.Now()
	out, err := child.CombinedOutput()
	switch text := string(out); {
	case err == nil:
		rig.Verdict(0, *rounds, "")
	case strings.Contains(text, "panic: send on closed channel"):
		fmt.Printf("after %v:\n%s", time.Since(began).Round(time.Millisecond), firstLines(text[strings.Index(text, "panic:"):], 9))
		fmt.Println("the bug shows: the process ended with a panic of etcd's client")
		os.Exit(1)
	default:
		rig.Must(fmt.Errorf("the child failed with another error: %w\n%s", err, firstLines(text, 20)))
	}
}

func firstLines(text string, n int) string {
	lines := strings.SplitAfterN(text, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "")
}

func cancelWatches(rounds int) {
	runtime.GOMAXPROCS(2)
	listener := rig.Value(net.Listen("tcp", "127.0.0.1:0"))
	server := grpc.NewServer()
	pb.RegisterWatchServer(server, etcd{})
	go func() { rig.Must(server.Serve(listener)) }()
	client := rig.Client(listener.Addr().String())
	go rig.Discard(client.Watch(context.Background(), "keep"))
	time.Sleep(100 * time.Millisecond)
	for range rounds {
		ctx, cancel := context.WithCancel(context.Background())
		watch := client.Watch(ctx, "busy", clientv3.WithRev(1))
		<-watch
		cancel()
		rig.Discard(watch)
	}
}

type etcd struct{ pb.UnimplementedWatchServer }

// Watch confirms each request. A watch of "busy" receives events, and a progress response
// for all watches of the stream follows each confirmation of a cancellation.
func (etcd) Watch(stream pb.Watch_WatchServer) error {
	header := &pb.ResponseHeader{Revision: 10}
	send := func(response *pb.WatchResponse) {
		response.Header = header
		_ = stream.Send(response)
	}
	for next := int64(0); ; {
		request, err := stream.Recv()
		if err != nil {
			return err
		}
		if create := request.GetCreateRequest(); create != nil {
			send(&pb.WatchResponse{WatchId: next, Created: true})
			for range 4 {
				if string(create.Key) == "busy" {
					send(&pb.WatchResponse{WatchId: next, Events: []*mvccpb.Event{{Kv: &mvccpb.KeyValue{Key: create.Key, ModRevision: 10}}}})
				}
			}
			next++
		}
		if cancel := request.GetCancelRequest(); cancel != nil {
			send(&pb.WatchResponse{WatchId: cancel.WatchId, Canceled: true})
			for range 3 {
				send(&pb.WatchResponse{WatchId: clientv3.InvalidWatchID})
			}
		}
	}
}
