// Package rig starts what the reproducers need, a released etcd in this process and a
// relay that can break connections, and ends them with a verdict. All connections are
// TCP over loopback.
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

// What Kubernetes logs is not what the programs say.
func init() { klog.SetLogger(klog.Logger{}) }

// folder is removed when the program ends.
var folder string

// Folder makes an empty folder for what the program stores.
func Folder() string {
	var err error
	folder, err = os.MkdirTemp("", "finding-")
	Must(err)
	return folder
}

func end(code int) {
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// StartEtcd starts a member with an empty data folder and returns its address, host
// and port. The member ends with the process, as it would wait for its clients otherwise.
func StartEtcd() string {
	config := embed.NewConfig()
	config.Dir = Folder()
	config.LogLevel = "fatal"
	config.UnsafeNoFsync = true
	local := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.ListenClientUrls, config.ListenPeerUrls = local, local
	server, err := embed.StartEtcd(config)
	Must(err)
	select {
	case <-server.Server.ReadyNotify():
	case <-time.After(time.Minute):
		Must(fmt.Errorf("etcd is not ready after a minute"))
	}
	return server.Clients[0].Addr().String()
}

// Client connects to an address.
func Client(address string) *clientv3.Client {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + address}, Logger: zap.NewNop(), DialTimeout: 10 * time.Second})
	Must(err)
	return client
}

// Put writes a key and returns the revision of the change.
func Put(client *clientv3.Client, key, value string) int64 {
	response, err := client.Put(context.Background(), key, value)
	Must(err)
	return response.Header.Revision
}

// Discard receives what a watch delivers, so that it never lags.
func Discard(watch clientv3.WatchChan) {
	for range watch {
	}
}

// Must ends the process if what the reproducer needs could not be had.
func Must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot reproduce anything:", err)
		end(2)
	}
}

// Verdict ends the process: with code 1 if the bug showed, otherwise with 0 and a
// sentence that says that this proves nothing.
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
