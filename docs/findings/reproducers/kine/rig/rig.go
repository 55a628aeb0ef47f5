// Package rig provides what the programs for kine share: kine over SQLite, k3s's default, writers, and a verdict.
package rig

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/k3s-io/kine/pkg/drivers"
	"github.com/k3s-io/kine/pkg/drivers/sqlite"
	"github.com/k3s-io/kine/pkg/server"
	"github.com/sirupsen/logrus"
	"google.golang.org/grpc"
)

// folder holds the database.
var folder string

// Must ends the program with code 2 if it cannot run.
func Must(err error) {
	if err != nil {
		_ = os.RemoveAll(folder)
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// Verdict prints in how many of the rounds a bug showed, and ends the program with code 1 if it did.
func Verdict(shown, rounds int, bug string) {
	if shown == 0 {
		fmt.Printf("the bug did not show in %d rounds\n", rounds)
		return
	}
	fmt.Printf("the bug shows: %s in %d of %d rounds\n", bug, shown, rounds)
	os.Exit(1)
}

// Start starts kine over a new database with the settings of kine's command. stop ends it and removes the database.
func Start() (backend server.Backend, stop func()) {
	logrus.SetOutput(io.Discard)
	var err error
	folder, err = os.MkdirTemp("", "kine-")
	Must(err)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	_, backend, err = sqlite.New(ctx, &group, &drivers.Config{
		DataSourceName: filepath.Join(folder, "state.db") + "?" + sqlite.DefaultParams,
		CompactTimeout: 5 * time.Second, CompactMinRetain: 1000, CompactBatchSize: 1000, PollBatchSize: 500, PollInterval: time.Second,
	})
	Must(err)
	Must(backend.Start(ctx))
	return backend, func() {
		cancel()
		group.Wait()
		_ = os.RemoveAll(folder)
	}
}

// Serve serves kine with etcd's API on a port of its own.
func Serve(backend server.Backend) (address string, stop func()) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Must(err)
	service := grpc.NewServer()
	server.New(backend, "http", 5*time.Second, "3.6.11").Register(service)
	go func() { _ = service.Serve(listener) }()
	return listener.Addr().String(), service.Stop
}

// Writers starts writers that each write to their own key with a prefix, until stop is called.
func Writers(backend server.Backend, prefix string, number int) (stop func()) {
	over := make(chan struct{})
	var group sync.WaitGroup
	for i := range number {
		group.Go(func() { write(backend, fmt.Sprint(prefix, i), over) })
	}
	return func() {
		close(over)
		group.Wait()
	}
}

// write writes to a key repeatedly until over is closed.
func write(backend server.Backend, key string, over <-chan struct{}) {
	ctx := context.Background()
	revision, _ := backend.Create(ctx, key, []byte("value"), 0)
	for {
		select {
		case <-over:
			return
		default:
		}
		next, object, updated, err := backend.Update(ctx, key, []byte("value"), revision, 0)
		switch {
		case err == nil && updated:
			revision = next
		case object != nil:
			revision = object.ModRevision
		}
	}
}
