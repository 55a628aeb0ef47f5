// Package target is the interface between the harness and the cacher under test. It uses the plain
// types of package model, so that the harness can drive any version of Kubernetes' cacher, or
// another store, without importing it. A sub-package adapts each cacher. [Releases] lists those
// that are run as released.
package target

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/model"
)

// Target creates API servers around one cacher implementation, and informers of them.
type Target interface {
	Servers

	// Name returns the target's name, as --target accepts it.
	Name() string

	// NewInformer returns a real client-go informer that lists and watches through api, and
	// notifies handle.
	NewInformer(api API, scope model.Scope, handle Handle) Informer
}

// Servers creates API servers.
type Servers interface {
	// Etcd returns the etcd release that the API servers use.
	Etcd() etcd.Release

	// Start starts one API server: the etcd3 store and the cacher over it. It does not
	// wait for the cache to be ready. All its goroutines belong to the calling process.
	// The server is a [Storage] or a [Web].
	Start(config ServerConfig) (Server, error)

	// Prefix returns the etcd prefix of the watched resource, with a trailing slash.
	Prefix() string

	// Decode turns a stored value into an object whose RV is zero. It reads the ground
	// truth, so it must not depend on the cacher.
	Decode(key string, value []byte) (model.Object, error)
}

// Handle handles one notification of an informer: that an object exists (model.Added), has changed
// (model.Modified) or is gone (model.Deleted). The informer waits for it.
type Handle func(what model.EventType, object model.Object)

// Logger is implemented by targets whose libraries log.
type Logger interface {
	// LogTo sends the libraries' logs to w, nil for nowhere, from the next server on.
	// No server may run during the call.
	LogTo(w io.Writer)
}

// Stored is implemented by targets whose API servers use another store than etcd.
type Stored interface {
	// Store returns it.
	Store() *etcd.Store
}

// Over returns the target with a store in etcd's place below its API servers.
func Over(made Target, store *etcd.Store) Target { return stored{Target: made, store: store} }

// stored implements Stored and Logger.
type stored struct {
	Target
	store *etcd.Store
}

func (s stored) Store() *etcd.Store { return s.store }

func (s stored) LogTo(w io.Writer) {
	if logger, logs := s.Target.(Logger); logs {
		logger.LogTo(w)
	}
}

// OverServers is [Over] for API servers that are only reached over the network, as in package simtest.
func OverServers(made Servers, store *etcd.Store) Servers { return storedServers{made, store} }

type storedServers struct {
	Servers
	store *etcd.Store
}

func (s storedServers) Store() *etcd.Store { return s.store }

// ServerConfig configures one API server.
type ServerConfig struct {
	// Name is the server's name in operations and streams.
	Name string
	// Endpoints are etcd's client URLs.
	Endpoints []string
	// BookmarkPeriod is the interval of bookmarks on idle watches.
	BookmarkPeriod time.Duration
	// WindowEvents is the size of the cache's window in events, for caches that support
	// it; 0 leaves it to the cache.
	WindowEvents int
	// ObjectBytes is the padding that the server adds to each object that it stores.
	ObjectBytes int
	// Tuning changes settings that runs seldom need.
	Tuning Tuning
	// Restarts is how often the server has been started before.
	Restarts int
	// Reached is called by an operation that has reached one of the points between the
	// cache and etcd; see package faults. It may block the operation while ctx lasts.
	// It may be nil.
	Reached func(ctx context.Context, point string)
	// Certificate returns a [Web]'s certificate for HTTPS, the same for all servers in all their lives.
	Certificate func() (Certificate, error)
	// Injection injects faults into the server's reads and writes; nil injects none.
	Injection *Injection
}

// Tuning changes settings of API servers that most runs leave alone. A zero field means
// kube-apiserver's default. Targets of old releases ignore it.
type Tuning struct {
	// HistoryWindow is the minimum time for which the cache keeps events.
	HistoryWindow time.Duration `json:"historyWindow,omitempty"`
	// CompactInterval is how often the servers compact etcd, up to the revision of one
	// interval ago.
	CompactInterval time.Duration `json:"compactInterval,omitempty"`
	// InPlace makes update functions change the object that they get.
	InPlace bool `json:"inPlace,omitempty"`
	// InValidation makes the validation of deletions check their preconditions.
	InValidation bool `json:"inValidation,omitempty"`
	// Encryption is how stored values are encrypted: not at all, or one of the constants.
	Encryption string `json:"encryption,omitempty"`
	// Gates are feature gates of the servers and of client-go, such as WatchList=false. They apply
	// to the whole process.
	Gates []string `json:"gates,omitempty"`
}

// How values are encrypted at rest.
const (
	// EncryptionAES encrypts with AES-GCM and one key.
	EncryptionAES = "aes"
	// EncryptionRotating makes a server write with another key after each restart. It reads values
	// of any key; until the others restart, they write with older keys.
	EncryptionRotating = "rotating"
)

// API connects a client to one API server. Both methods leave the request's fields
// unchanged and fill in the response's; they do not touch ID, Call, Return or the
// recorded events, which belong to the client's recorder.
type API interface {
	// Do performs one operation. token is the continue token of the previous page, next
	// is the token for the following one; both are empty where there is none.
	Do(ctx context.Context, op *model.Operation, token string) (next string)

	// Watch opens a stream. On failure it fills in Err and Message and returns nil.
	//
	// If stream.Mutates is set, the server overwrites each object that its cache
	// delivers, in place, after it has made the client's event from it. It acts as a
	// consumer inside the server, before encoding. It writes model.MutationMark with
	// the stream's ID.
	Watch(ctx context.Context, stream *model.Stream) Watch
}

// Watch is the receiving end of one stream.
type Watch interface {
	// Next waits for the next event and sets Type, RV, Object, InitialEnd, Err and
	// Message. When the stream has ended, it returns false and the reason.
	Next() (model.Event, model.CloseReason, bool)

	// Stop ends the stream. It may be called at any time, more than once, and while
	// Next waits.
	Stop()
}

// Server is one running API server.
type Server interface {
	// BreakWatch ends the cacher's upstream watch once. If the watch ends with an
	// expired RV, the cache relists and reinitialises.
	BreakWatch(how faults.WatchEnd)

	// Stop shuts the server down in an orderly way and waits for its goroutines.
	// Further calls do nothing.
	Stop()
}

// Storage is a [Server] from the registry down. Clients reach it by a wire of the harness.
type Storage interface {
	Server
	API
}

// Web is a [Server] that serves HTTP by itself.
type Web interface {
	Server

	// Serve serves connections of the listener, and returns once the server has stopped.
	Serve(listener net.Listener)
}

// Counter is a [Server] that exposes how many watches its cache has registered.
type Counter interface {
	Server

	// Watchers returns the number of watches that the cache itself has registered,
	// model.Uncounted if the server has no cache.
	Watchers() int
}

// Windowed is a [Server] that exposes its cache's window.
type Windowed interface {
	Server

	// Window returns how often the cache has been initialised with a list, 0 if
	// unknown, and the window of changes that it can serve. known is false while the
	// cache is changing: Window must not block, because its caller may hold any lock.
	Window() (filling int, window model.Window, known bool)
}

// Replacer is a [Server] that can replace its storage and cache while it keeps serving.
type Replacer interface {
	Server

	// ReplaceStorage makes new requests use a new storage and cache. The old ones are
	// stopped when their requests are done, which does not wait for watches: these end
	// with the cache.
	ReplaceStorage() error
}

// Informer is a running client-go informer.
type Informer interface {
	// Run lists and watches until ctx is done.
	Run(ctx context.Context)
	// Objects returns the store's contents, in no particular order.
	Objects() []model.Object
	// LastSyncRV returns the last resourceVersion that the informer's reflector saw.
	LastSyncRV() int64
}

// Injection injects faults into an API server's reads from and writes to etcd. It
// outlives the server: a restarted one gets the same faults. The zero value injects
// nothing, and all fields may be changed at any time.
type Injection struct {
	// Lists, Transforming and Decoding make the cache's lists, the decryption of values
	// and their decoding fail.
	Lists, Transforming, Decoding atomic.Bool
	// TTL is the time to live of written objects, in seconds; 0 is forever.
	TTL atomic.Uint64
}
