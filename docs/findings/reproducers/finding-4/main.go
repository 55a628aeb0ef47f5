// Finding 4: gRPC's client closes a live connection after the wall clock was set back.
// `make reproduce-4` builds an overlay of Go's time.Now, which sets only the clock of this
// process. The monotonic clock continues, as with settimeofday(2).
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/stats"
)

// setWallClock moves the wall clock of this process. It is nil without the overlay.
var setWallClock func(by time.Duration)

func main() {
	back := flag.Duration("back", 45*time.Second, "how far the clock is set back, 5 s after the start")
	lasts := flag.Duration("lasts", 70*time.Second, "how long to observe the connection after that")
	flag.Parse()
	if setWallClock == nil {
		must(fmt.Errorf("this build cannot set its wall clock: use make reproduce-4"))
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, health.NewServer())
	go func() { must(server.Serve(listener)) }()
	connections := &connections{start: time.Now()}
	conn, err := grpc.NewClient(listener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStatsHandler(connections),
		// kube-apiserver's settings for etcd.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}))
	must(err)
	client := healthpb.NewHealthClient(conn)
	stream, err := client.Watch(context.Background(), &healthpb.HealthCheckRequest{})
	must(err)
	ended := make(chan error, 1)
	go func() {
		for {
			if _, err := stream.Recv(); err != nil {
				ended <- err
				return
			}
		}
	}()
	go func() {
		for range time.Tick(time.Second) {
			// This fails while the connection is being replaced, which is the bug.
			_, _ = client.Check(context.Background(), &healthpb.HealthCheckRequest{})
		}
	}()

	time.Sleep(5 * time.Second)
	setWallClock(-*back)
	connections.print(fmt.Sprintf("wall clock set back by %v", *back))
	select {
	case err := <-ended:
		connections.print(fmt.Sprintf("stream ended: %v", err))
		fmt.Println("the bug shows: a live connection was closed")
		os.Exit(1)
	case <-time.After(*lasts):
		fmt.Printf("not seen: the connection lived for %v after the clock was set, and %d were closed\n", *lasts, connections.closed.Load())
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot reproduce anything:", err)
		os.Exit(2)
	}
}

// connections prints when a client's connections are opened and closed.
type connections struct {
	start  time.Time
	closed atomic.Int32
}

func (c *connections) print(what string) {
	fmt.Printf("%5.1fs %s\n", time.Since(c.start).Seconds(), what)
}

func (c *connections) HandleConn(_ context.Context, s stats.ConnStats) {
	switch s.(type) {
	case *stats.ConnBegin:
		c.print("connection opened")
	case *stats.ConnEnd:
		c.closed.Add(1)
		c.print("connection closed")
	}
}

func (c *connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return ctx
}

func (c *connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return ctx
}

func (c *connections) HandleRPC(context.Context, stats.RPCStats) {}
