// Finding 1 through Kubernetes' storage: decryption fails for a while in one API server,
// as in an outage of a KMS plugin, while another one writes. Then consistent lists of
// the first one lack changes, in some runs for good.
package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

const objects = 20

func main() {
	rounds := flag.Int("rounds", 8, "outages, each with a new API server")
	outage := flag.Duration("outage", 18*time.Second, "length of an outage")
	flag.Parse()

	address := rig.StartEtcd()
	etcd := rig.Client(address)
	seen := 0
	for round := range *rounds {
		stale, lost := one(address, etcd, *outage)
		fmt.Printf("outage %d: %d consistent lists lacked changes; some still missing 5 s after the outage: %v\n", round, stale, lost)
		if stale > 0 || lost {
			seen++
		}
	}
	rig.Verdict(seen, *rounds, "consistent lists without committed changes")
}

// one breaks decryption for a while. It returns how many consistent lists were stale,
// and whether lists are still stale after the outage.
func one(address string, etcd *clientv3.Client, outage time.Duration) (int64, bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	apiserver := store.New(address)
	padding := strings.Repeat("x", 4<<10)
	write := func(i int) {
		rig.Put(etcd, store.Prefix+fmt.Sprintf("cm-%d", i), apiserver.Encode(fmt.Sprintf("cm-%d", i), padding))
	}
	for i := range objects {
		write(i)
	}

	var stale atomic.Int64
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for ctx.Err() == nil {
				if lacks, err := staleList(ctx, apiserver, etcd); err == nil && lacks {
					stale.Add(1)
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	apiserver.Broken.Store(true)
	began := time.Now()
	write(objects - 1) // this one is not changed again
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := w; time.Since(began) < outage-5*time.Second; i += 8 {
				write(i % (objects - 1))
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	writers.Wait()
	time.Sleep(time.Until(began.Add(outage)))
	apiserver.Broken.Store(false)
	time.Sleep(5 * time.Second)
	lost := rig.Value(staleList(ctx, apiserver, etcd))
	cancel()
	clients.Wait()
	return stale.Load(), lost
}

// staleList reports whether a consistent list lacks a change that etcd had committed at
// the resourceVersion of the list.
func staleList(ctx context.Context, apiserver *store.Store, etcd *clientv3.Client) (bool, error) {
	rv, got, err := apiserver.List(ctx, "")
	if err != nil {
		return false, err
	}
	truth, err := etcd.Get(ctx, store.Prefix, clientv3.WithPrefix(), clientv3.WithRev(rv), clientv3.WithKeysOnly())
	if err != nil {
		return false, err
	}
	for _, kv := range truth.Kvs {
		if got[strings.TrimPrefix(string(kv.Key), store.Prefix)] != kv.ModRevision {
			return true, nil
		}
	}
	return len(got) != len(truth.Kvs), nil
}
