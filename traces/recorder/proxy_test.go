package recorder

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// proxy is between an API server and etcd. All requests pass; the events of watches can
// be held back, or lost, without the API server noticing.
type proxy struct {
	upstream *grpc.ClientConn
	address  string

	frozen   atomic.Bool // holds back all events of watches
	loseNext atomic.Bool // loses the next event of any watch; false again once it is lost
}

// startProxy runs one until the test ends.
func startProxy(t *testing.T, etcd string) *proxy {
	t.Helper()
	upstream, err := grpc.NewClient(strings.TrimPrefix(etcd, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{upstream: upstream, address: "http://" + listener.Addr().String()}
	server := grpc.NewServer(grpc.UnknownServiceHandler(p.pass), grpc.ForceServerCodecV2(asBytes{}))
	go server.Serve(listener)
	t.Cleanup(func() {
		server.Stop()
		upstream.Close()
	})
	return p
}

// admit reports whether a response may pass.
func (p *proxy) admit(response []byte) bool {
	if p.frozen.Load() {
		return false
	}
	var decoded etcdserverpb.WatchResponse
	hasEvents := proto.Unmarshal(response, &decoded) == nil && len(decoded.Events) > 0
	return !hasEvents || !p.loseNext.CompareAndSwap(true, false)
}

// pass forwards one call in both directions.
func (p *proxy) pass(_ any, client grpc.ServerStream) error {
	ctx, cancel := context.WithCancel(client.Context())
	defer cancel()
	method, _ := grpc.MethodFromServerStream(client)
	headers, _ := metadata.FromIncomingContext(ctx)
	description := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	etcd, err := p.upstream.NewStream(metadata.NewOutgoingContext(ctx, headers), description, method, grpc.ForceCodecV2(asBytes{}))
	if err != nil {
		return err
	}
	go func() {
		for {
			var message []byte
			if client.RecvMsg(&message) != nil {
				etcd.CloseSend()
				return
			}
			if etcd.SendMsg(&message) != nil {
				return
			}
		}
	}()
	for {
		var message []byte
		if err := etcd.RecvMsg(&message); err != nil {
			client.SetTrailer(etcd.Trailer())
			if err.Error() == "EOF" {
				return nil
			}
			return err
		}
		if strings.HasSuffix(method, "/Watch") && !p.admit(message) {
			continue
		}
		if err := client.SendMsg(&message); err != nil {
			return err
		}
	}
}

// asBytes is a codec that does not decode messages.
type asBytes struct{}

func (asBytes) Name() string { return "bytes" }

func (asBytes) Marshal(message any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*message.(*[]byte))}, nil
}

func (asBytes) Unmarshal(data mem.BufferSlice, message any) error {
	*message.(*[]byte) = data.Materialize()
	return nil
}
