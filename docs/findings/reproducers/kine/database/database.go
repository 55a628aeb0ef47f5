// Package database starts kine over SQLite, as k3s has it by default.
package database

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/k3s-io/kine/pkg/drivers"
	"github.com/k3s-io/kine/pkg/drivers/sqlite"
	"github.com/k3s-io/kine/pkg/server"
	"github.com/sirupsen/logrus"
)

// Start starts it over a new database with the settings of kine's command. stop ends it, and removes the database.
func Start() (backend server.Backend, stop func(), err error) {
	logrus.SetOutput(io.Discard)
	dir, err := os.MkdirTemp("", "kine-")
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	stop = func() {
		cancel()
		group.Wait()
		_ = os.RemoveAll(dir)
	}
	_, backend, err = sqlite.New(ctx, &group, &drivers.Config{
		DataSourceName: filepath.Join(dir, "state.db") + "?" + sqlite.DefaultParams,
		CompactTimeout: 5 * time.Second, CompactMinRetain: 1000, CompactBatchSize: 1000, PollBatchSize: 500, PollInterval: time.Second,
	})
	if err == nil {
		err = backend.Start(ctx)
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return backend, stop, nil
}

// Write writes to a key again and again, until over is closed.
func Write(backend server.Backend, key string, over <-chan struct{}) {
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
