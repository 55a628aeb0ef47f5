package simtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// firstPort is where the first proxy of a run listens.
const firstPort = 8001

var proxies atomic.Int64

// Proxy serves the API that config reaches over plain HTTP on the program's own host until ctx is done, and returns the
// URL. It is for programs that take an address or a kubeconfig instead of a [rest.Config], and works like kubectl proxy.
// Each call gets another port: client-go caches connections by address for the whole process, and those of a crashed life
// are dead.
func Proxy(ctx context.Context, config *rest.Config) (string, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return "", fmt.Errorf("proxy: %w", err)
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		return "", fmt.Errorf("proxy: expected the URL of a server, found %q: %w", config.Host, err)
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+proxies.Add(1)-1))
	if err != nil {
		return "", fmt.Errorf("proxy: %w", err)
	}
	proxy := &http.Server{Handler: &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(server)
			request.Out.Header.Del("Accept-Encoding") // the transport asks for what it unpacks
		},
		Transport:     transport,
		FlushInterval: -1, // watches
	}}
	go func() { _ = proxy.Serve(listener) }()
	context.AfterFunc(ctx, func() { _ = proxy.Close() })
	return "http://" + listener.Addr().String(), nil
}
