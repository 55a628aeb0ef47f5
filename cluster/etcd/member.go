package etcd

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/rafthttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/watchsim/watchsim/sim/simdisk"
)

// DefaultProgressNotify is kubeadm's setting for an etcd behind a watch cache.
const DefaultProgressNotify = 5 * time.Second

// Config configures one member. Release, Name, Dir and Cluster are required.
type Config struct {
	// Release is the release of etcd that the member runs.
	Release Release
	// Name is the member's name, one of Cluster.
	Name string
	// Dir is the data folder. A member continues from an existing one; if it is empty
	// or missing, it bootstraps.
	Dir string
	// Cluster names all members, this one included.
	Cluster []string

	// ProgressNotify is the interval of progress notifications for idle watches that
	// requested them.
	ProgressNotify time.Duration
	// Tuning changes settings that runs seldom need.
	Tuning Tuning
	// Injection injects faults into the watch streams that the member serves; nil
	// injects none.
	Injection *WatchInjection
	// Logger receives the member's logs; nil discards them. A logger that fails to
	// write must not block.
	Logger *zap.Logger
}

// ClientURL returns the URL at which the named member serves clients.
func ClientURL(name string) string { return "unix://" + name + clientPort }

// PeerURL returns the URL at which the named member serves its peers.
func PeerURL(name string) string { return "unix://" + name + peerPort }

const (
	clientPort = ":2379"
	peerPort   = ":2380"
)

// electionTicks is how many ticks without a heartbeat start an election at the earliest.
const electionTicks = 10

// Patience is how long members wait on a connection to an address before they give up; 0 is
// forever. Over TCP etcd sets a deadline before each call on the streams between members and on
// whatever they accept (rafthttp, ConnReadTimeout and ConnWriteTimeout), but not on unix networks,
// and over TCP it insists on a net.TCPConn. Other requests than the streams have no deadline at the
// dialing end; an address does not distinguish them.
func Patience(address string) time.Duration {
	if strings.HasSuffix(address, peerPort) {
		return rafthttp.ConnReadTimeout
	}
	return 0
}

// Member is one running etcd member.
//
// Its methods call the server directly, not over the network, so in a simulation they
// must be called from the member's process.
type Member struct {
	*watchRegister
	name    string
	release Release
	server  *embed.Etcd
	stopped sync.Once
}

// errGaveUp is the error of Start where etcd would have ended its process.
var errGaveUp = errors.New("gave up while booting")

// Start boots a member and returns once it serves its peers. It does not wait for a
// leader; Ready reports when the member serves clients. What it returns is a *Member.
func Start(config Config) (Running, error) {
	watches := newWatchRegister(config.Injection)
	settings, err := config.embedded(watches)
	if err != nil {
		return nil, fmt.Errorf("etcd member %q: %w", config.Name, err)
	}

	// A member that gives up panics or ends its goroutine. It boots on a separate
	// goroutine so that the caller survives.
	var server *embed.Etcd
	err = errGaveUp
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if reason := recover(); reason != nil {
				err = fmt.Errorf("%w: %v", errGaveUp, reason)
			}
		}()
		server, err = embed.StartEtcd(settings)
	}()
	<-done
	if err != nil {
		return nil, fmt.Errorf("etcd member %q: %w", config.Name, err)
	}
	return &Member{name: config.Name, release: config.Release, server: server, watchRegister: watches}, nil
}

// embedded translates the configuration into etcd's. watches registers the watch
// streams.
func (c Config) embedded(watches *watchRegister) (*embed.Config, error) {
	tuning := c.Tuning.completed()
	c.ProgressNotify = cmp.Or(c.ProgressNotify, DefaultProgressNotify)
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	gaveUp := func(reason error) {
		if simdisk.Full() {
			return // the harness's limit is to blame, and makes the run inconclusive
		}
		panic(fmt.Sprintf("etcd member %q gave up: %v", c.Name, reason))
	}

	client, err := url.Parse(ClientURL(c.Name))
	if err != nil {
		return nil, err
	}
	peer, err := url.Parse(PeerURL(c.Name))
	if err != nil {
		return nil, err
	}
	members := make([]string, len(c.Cluster))
	for i, name := range c.Cluster {
		members[i] = name + "=" + PeerURL(name)
	}

	s := embed.NewConfig()
	s.Name = c.Name
	s.Dir = c.Dir
	s.InitialCluster = strings.Join(members, ",")
	s.ListenClientUrls, s.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	s.ListenPeerUrls, s.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	s.TickMs = uint(tuning.Tick.Milliseconds())
	s.ElectionMs = electionTicks * s.TickMs

	s.QuotaBackendBytes = tuning.QuotaBytes
	s.BackendFreelistType = "map"
	s.BackendBatchInterval, s.BackendBatchLimit = tuning.BatchInterval, tuning.BatchLimit
	s.SnapshotCount, s.SnapshotCatchUpEntries = uint64(tuning.SnapshotEntries), uint64(tuning.CatchUpEntries)

	// Disable background work that no run needs: the REST gateway would keep a gRPC
	// connection of the member to itself, and the purge loop wakes up every few seconds
	// to look for old files.
	s.EnableGRPCGateway = false
	s.MaxSnapFiles, s.MaxWalFiles = 0, 0

	if limiter, can := c.Release.(WatchLimiter); can {
		limiter.LimitWatches(tuning.WatchBatch, tuning.WatchBuffer, tuning.WatchesPerSync)
	}
	c.Release.Configure(s, c.ProgressNotify, tuning.CompactionBatch, watches.intercept)
	s.ZapLoggerBuilder = embed.NewZapLoggerBuilder(c.Logger.WithOptions(zap.WithFatalHook(fatalHook{gaveUp})))
	return s, nil
}

// Ready is closed once the member has joined the cluster and serves clients.
func (m *Member) Ready() <-chan struct{} { return m.server.Server.ReadyNotify() }

// Stop shuts the member down as SIGTERM does and waits for its goroutines. It waits for
// open watches for at most five seconds and two election timeouts, and then cuts them.
// A second call waits for the first.
//
// Close waits forever if the member does not serve clients yet, for lack of a leader
// (etcd-io/etcd#9533), unless the server inside has been stopped before. In production such a
// member is eventually killed.
func (m *Member) Stop() {
	m.stopped.Do(func() {
		select {
		case <-m.Ready():
		default:
			m.server.Server.Stop()
		}
		m.server.Close()
	})
}

// fatalHook keeps a fatal log message from ending the process, which contains the whole
// simulation. onFatal is called on the failing goroutine, which ends when it returns; the others
// are left running.
type fatalHook struct {
	onFatal func(reason error)
}

// OnWrite implements zapcore.CheckWriteHook.
func (h fatalHook) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	h.onFatal(errors.New(entry.Message + describe(fields)))
	runtime.Goexit()
}

// describe formats the error among a log message's fields, if there is one.
func describe(fields []zapcore.Field) string {
	for _, field := range fields {
		if err, ok := field.Interface.(error); ok && field.Type == zapcore.ErrorType {
			return ": " + err.Error()
		}
	}
	return ""
}

// The settings of kube-apiserver's etcd client.
const (
	dialTimeout      = 20 * time.Second
	keepAliveTime    = 30 * time.Second
	keepAliveTimeout = 10 * time.Second
)

// NewClient returns a client with kube-apiserver's settings for one or more members. It
// does not connect before the first request. The caller closes it.
func NewClient(endpoints ...string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Endpoints:            endpoints,
		DialTimeout:          dialTimeout,
		DialKeepAliveTime:    keepAliveTime,
		DialKeepAliveTimeout: keepAliveTimeout,
		Logger:               zap.NewNop(),
	})
}
