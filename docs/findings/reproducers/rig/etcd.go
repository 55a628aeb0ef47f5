// Package rig provides what the reproducers share: a released etcd in this process, a
// relay that can break connections, and a verdict. All connections are TCP over
// loopback.
package rig

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"k8s.io/klog/v2"
)

// The programs do not print Kubernetes' log.
func init() { klog.SetLogger(klog.Logger{}) }

// folder is removed when the program ends.
var folder string

// Folder creates an empty folder for the program's data.
func Folder() string {
	folder = Value(os.MkdirTemp("", "finding-"))
	return folder
}

func end(code int) {
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// StartEtcd starts a member with an empty data folder and returns its host and port. It
// has no stop function: the member would wait for its clients.
func StartEtcd() string {
	config := embed.NewConfig()
	config.Dir = Folder()
	config.LogLevel = "fatal"
	config.UnsafeNoFsync = true
	local := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.ListenClientUrls, config.ListenPeerUrls = local, local
	server := Value(embed.StartEtcd(config))
	Ready(server)
	return server.Clients[0].Addr().String()
}

// Ready waits until a member is ready.
func Ready(member *embed.Etcd) {
	select {
	case <-member.Server.ReadyNotify():
	case <-time.After(time.Minute):
		Must(fmt.Errorf("etcd is not ready after a minute"))
	}
}

// Client connects to an address.
func Client(address string) *clientv3.Client {
	return Value(clientv3.New(clientv3.Config{Endpoints: []string{"http://" + address}, Logger: zap.NewNop(), DialTimeout: 10 * time.Second}))
}

// Put writes a key and returns the revision of the change.
func Put(client *clientv3.Client, key, value string) int64 {
	return Value(client.Put(context.Background(), key, value)).Header.Revision
}

// Discard receives and drops all responses of a watch, so that it never lags.
func Discard(watch clientv3.WatchChan) {
	for range watch {
	}
}

// Must ends the process with code 2 if the reproducer cannot run.
func Must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot reproduce anything:", err)
		end(2)
	}
}

// Verdict ends the process with code 1 if the bug showed. Otherwise it prints that this
// proves nothing, and the code is 0.
func Verdict(seen, rounds int, what string) {
	if seen > 0 {
		fmt.Printf("the bug shows: %s in %d of %d rounds\n", what, seen, rounds)
		end(1)
	}
	fmt.Printf("not seen in %d rounds: either it is fixed, or no round met the race\n", rounds)
	end(0)
}

// VerdictOfOne is the verdict of a program with a single round.
func VerdictOfOne(seen bool, what string) {
	count := 0
	if seen {
		count = 1
	}
	Verdict(count, 1, what)
}
