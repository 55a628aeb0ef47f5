package server

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// etcdStartTimeout is how long a member may take to elect itself.
const etcdStartTimeout = 30 * time.Second

// Etcd is a single-member etcd in this process. Clients on this machine reach it over a loopback
// port, without authentication.
type Etcd struct {
	server    *embed.Etcd
	directory string
}

// StartEtcd starts a member with a new directory for its data.
func StartEtcd() (*Etcd, error) {
	directory, err := os.MkdirTemp("", "widgets-etcd-")
	if err != nil {
		return nil, err
	}
	freePort := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config := embed.NewConfig()
	config.Dir = directory
	config.ListenClientUrls, config.AdvertiseClientUrls = freePort, freePort
	config.ListenPeerUrls, config.AdvertisePeerUrls = freePort, freePort
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.WatchProgressNotifyInterval = 5 * time.Second // as usual for watch caches
	config.UnsafeNoFsync = true                          // the data does not outlive the process
	config.LogLevel = "fatal"                            // a stopping member logs errors
	member, err := embed.StartEtcd(config)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("etcd does not start in %s: %w", directory, err), os.RemoveAll(directory))
	}
	etcd := &Etcd{server: member, directory: directory}
	select {
	case <-member.Server.ReadyNotify():
		return etcd, nil
	case err = <-member.Err():
	case <-time.After(etcdStartTimeout):
		err = fmt.Errorf("not ready after %v", etcdStartTimeout)
	}
	etcd.Stop()
	return nil, fmt.Errorf("etcd does not start in %s: %w", directory, err)
}

// Endpoint returns the URL for clients.
func (e *Etcd) Endpoint() string { return "http://" + e.server.Clients[0].Addr().String() }

// Stop ends the member and removes its data.
func (e *Etcd) Stop() {
	e.server.Close()
	os.RemoveAll(e.directory)
}
