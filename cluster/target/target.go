// Package target is the seam between the harness and the cacher under test.
// It speaks in the plain types of package model, so that the harness can drive
// any version of Kubernetes' cacher, or another store altogether, without
// importing it. Each cacher is adapted by a sub-package of its own.
package target

import (
	"context"
	"io"
	"time"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/model"
)

// Target makes API servers around one cacher implementation.
type Target interface {
	// Name is what --target calls it.
	Name() string

	// Etcd is the release of etcd that its API servers run over.
	Etcd() etcd.Release

	// Start brings up one API server: the etcd3 store and the cacher over it.
	// It returns without waiting for the cache to be ready. Every goroutine it
	// starts belongs to the calling process.
	Start(config ServerConfig) (Server, error)

	// NewInformer makes a real client-go informer that lists and watches
	// through api.
	NewInformer(api API, scope model.Scope) Informer

	// Prefix is the etcd prefix of the watched resource, with a trailing slash.
	Prefix() string

	// Decode turns a stored value into an object whose RV is zero. It reads
	// ground truth, so it must not depend on the cacher.
	Decode(key string, value []byte) (model.Object, error)
}

// Logger is what a target may be besides: one whose libraries log.
type Logger interface {
	// LogTo sends what they log to w, nil for nowhere, from the next server on. No
	// server may run meanwhile.
	LogTo(w io.Writer)
}

// ServerConfig says how one API server is set up.
type ServerConfig struct {
	// Name is the server's name, as operations and streams carry it.
	Name string
	// Endpoints are etcd's client URLs.
	Endpoints []string
	// BookmarkPeriod is how often an idle watch gets a bookmark.
	BookmarkPeriod time.Duration
	// WindowEvents is how many events the cache's window holds, for caches that can be
	// told; 0 leaves it to the cache.
	WindowEvents int
	// Reached is called by an operation that has got to one of the points between
	// the cache and etcd, see package faults. It may make the operation wait, while
	// ctx lasts. Nil means that nobody wants to know.
	Reached func(ctx context.Context, point string)
	// Injection is what is wrong with what the server reads and writes, nil for
	// nothing.
	Injection *Injection
}

// API is how a client reaches one API server. Both methods leave the request's
// fields as they are and fill in the response's; neither touches ID, Call,
// Return or the recorded events, which belong to the client's recorder.
type API interface {
	// Do performs one operation. token is the continue token of the previous
	// page, next that of the following one; both are empty where there is none.
	Do(ctx context.Context, op *model.Operation, token string) (next string)

	// Watch opens a stream. On failure it fills in Err and Message and returns nil.
	//
	// If stream.Mutates is set, the server writes over each object that its
	// cache delivers, in place, once the event for the client has been made from
	// it: a consumer inside the server, before anything is encoded. The marks are
	// those of model.MutationMark with the stream's ID.
	Watch(ctx context.Context, stream *model.Stream) Watch
}

// Watch is the receiving end of one stream.
type Watch interface {
	// Next waits for the next event and sets Type, RV, Object, InitialEnd, Err
	// and Message. It returns false, and why, when the stream has ended.
	Next() (model.Event, model.CloseReason, bool)

	// Stop ends the stream. It may be called at any time, more than once, and
	// while Next waits.
	Stop()
}

// Server is one running API server.
type Server interface {
	API

	// BreakWatch ends the cacher's upstream watch once. If it expires, the cache
	// lists again and re-initialises.
	BreakWatch(how faults.WatchEnd)

	// Stop shuts the server down in an orderly way and waits for its goroutines. A
	// further call does nothing else.
	Stop()
}

// Counter is a [Server] that can tell how many watches its cache holds.
type Counter interface {
	Server

	// Watchers is the number of watches that the cache itself has registered.
	Watchers() int
}

// Windowed is a [Server] whose cache can be looked into.
type Windowed interface {
	Server

	// Window is what the cache holds: how often it has been filled with a list, 0
	// while nothing can be read of it, and which window of changes it can serve. Not
	// known is what is being changed just now, as Window waits for nothing: it is
	// called by whoever happens to run, with whatever that holds locked.
	Window() (filling int, window model.Window, known bool)
}

// Informer is a running client-go informer.
type Informer interface {
	// Run lists and watches until ctx is done.
	Run(ctx context.Context)
	// Objects are the store's contents, in no particular order.
	Objects() []model.Object
	// LastSyncRV is the last resourceVersion the informer's reflector saw.
	LastSyncRV() int64
}
