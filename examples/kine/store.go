package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/k3s-io/kine/pkg/drivers"
	"github.com/k3s-io/kine/pkg/drivers/sqlite"
	"github.com/k3s-io/kine/pkg/server"

	"github.com/watchsim/watchsim/cluster/etcd"
)

// The settings of kine's command, except two: it would keep the last 1000 revisions, which most runs
// do not reach, and would not make SQLite sync each commit, so that a power failure loses
// acknowledged writes.
const (
	parameters       = "_journal_mode=WAL&_busy_timeout=30000&_txlock=immediate&_synchronous=FULL"
	compactTimeout   = 5 * time.Second
	compactMinRetain = 10
	compactBatchSize = 1000
	pollBatchSize    = 500
	pollInterval     = time.Second
	emulatedVersion  = "3.6.11"
)

// start starts kine from the files of its last life.
func start(config etcd.StoreConfig) (etcd.Services, error) {
	path, err := nextLife(config.Dir)
	if err != nil {
		return etcd.Services{}, err
	}
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	backend, dialect, err := sqlite.NewVariant(ctx, &group, "sqlite3", &drivers.Config{
		DataSourceName: path + "?" + parameters,
		CompactTimeout: compactTimeout, CompactMinRetain: compactMinRetain, CompactBatchSize: compactBatchSize,
		PollBatchSize: pollBatchSize, PollInterval: pollInterval,
	})
	for _, statement := range witness {
		if err == nil {
			_, err = dialect.DB.Exec(statement)
		}
	}
	if err == nil {
		err = backend.Start(ctx)
	}
	if err != nil {
		stop()
		return etcd.Services{}, fmt.Errorf("kine: %w", err)
	}
	bridge := server.New(backend, "http", config.ProgressNotify, emulatedVersion)
	return etcd.Services{KV: bridge, Watch: bridge, Lease: bridge, Maintenance: bridge, Stop: func() {
		stop()
		group.Wait()
	}}, nil
}

// nextLife returns the path of the database for this life of the store: a copy of the last one's,
// if there is any. SQLite keeps a file's locks in its own memory, which survives a simulated crash;
// a copy is not locked.
func nextLife(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	last := newest(dir)
	next := database(dir, last+1)
	if last > 0 {
		// The log first: without the database, it has no effect.
		for _, suffix := range []string{"-wal", ""} {
			content, err := os.ReadFile(database(dir, last) + suffix)
			if os.IsNotExist(err) {
				continue
			}
			if err == nil {
				err = place(next+suffix, content)
			}
			if err != nil {
				return "", err
			}
		}
		for _, suffix := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(database(dir, last) + suffix) // what is left takes room, and no more
		}
	}
	return next, nil
}

// place creates a file atomically and durably.
func place(path string, content []byte) error {
	file, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err = file.Write(content); err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	return err
}

func database(dir string, life int) string {
	return filepath.Join(dir, fmt.Sprintf("life-%d.db", life))
}

// newest returns the number of the newest life that has left a database, 0 if none has.
func newest(dir string) (life int) {
	found, _ := filepath.Glob(filepath.Join(dir, "life-*.db"))
	for _, path := range found {
		var number int
		if _, err := fmt.Sscanf(filepath.Base(path), "life-%d.db", &number); err == nil {
			life = max(life, number)
		}
	}
	return life
}
