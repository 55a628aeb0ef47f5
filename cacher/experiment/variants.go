package main

import (
	"context"
)

// variant is a way to serve many clients that watch all pods.
type variant struct {
	name  string
	title string // in the legend of the plot
	// start makes ready what serves the clients, whose number it is given.
	start func(ctx context.Context, address string, watches int, s settings) (source, error)
}

// source is what clients open their watches on.
type source interface {
	// watch reads all pods and watches them from there on. The watch ends with ctx.
	watch(ctx context.Context, client int) (receive, error)
	// connections is how many connections to etcd all watches share.
	connections() int
	// stop gives everything back, after the watches have ended.
	stop()
}

// receive waits for the next events of a watch, and returns their revisions; first
// of all those of the pods that were there. It returns none once the watch has
// ended. What it returned is good until it is called again.
type receive func() []int64

// variants are in the order in which they are measured and shown.
var variants = []variant{
	{"etcd-shared", "etcd, all watches on one connection", func(_ context.Context, address string, _ int, _ settings) (source, error) {
		return newDirect(address, 1)
	}},
	{"etcd-spread", "etcd, watches spread over connections", func(_ context.Context, address string, watches int, s settings) (source, error) {
		return newDirect(address, (watches+s.PerConnection-1)/s.PerConnection)
	}},
	{"kubernetes", "Kubernetes' cacher", func(ctx context.Context, address string, _ int, _ settings) (source, error) {
		return newCached(ctx, address, startKubernetes)
	}},
	{"cacher", "this cacher", func(ctx context.Context, address string, _ int, _ settings) (source, error) {
		return newCached(ctx, address, startCacher)
	}},
}
