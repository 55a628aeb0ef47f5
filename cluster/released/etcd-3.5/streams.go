package etcd35

import (
	"sync"

	prometheus "github.com/grpc-ecosystem/go-grpc-prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
)

// interceptors are those of the members, by their client addresses. The last member to start at an
// address is the one that serves there.
var (
	interceptorsMu sync.Mutex
	interceptors   = map[string]grpc.StreamServerInterceptor{}
)

// intercept intercepts the gRPC streams of the member at an address.
func intercept(address string, by grpc.StreamServerInterceptor) {
	interceptorsMu.Lock()
	defer interceptorsMu.Unlock()
	interceptors[address] = by
}

// init puts the interceptors after the one that counts streams. This release has no options for its
// gRPC server, but it takes that one from a variable when it creates a server.
func init() {
	count := prometheus.StreamServerInterceptor
	prometheus.StreamServerInterceptor = func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		by := interceptorOf(stream)
		if by == nil {
			return count(server, stream, info, handle)
		}
		return count(server, stream, info, func(server any, stream grpc.ServerStream) error {
			return by(server, stream, info, handle)
		})
	}
}

// interceptorOf returns the interceptor of the member that serves a stream.
func interceptorOf(stream grpc.ServerStream) grpc.StreamServerInterceptor {
	caller, ok := peer.FromContext(stream.Context())
	if !ok || caller.LocalAddr == nil {
		return nil
	}
	interceptorsMu.Lock()
	defer interceptorsMu.Unlock()
	return interceptors[caller.LocalAddr.String()]
}
