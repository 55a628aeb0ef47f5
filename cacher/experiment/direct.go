package main

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// direct serves each client by a watch of its own in etcd.
type direct struct{ clients []*clientv3.Client }

// newDirect opens connections to etcd. The watches of one connection share one
// gRPC stream, as clientv3 arranges it.
func newDirect(address string, connections int) (*direct, error) {
	d := &direct{}
	for range connections {
		client, err := connect(address)
		if err != nil {
			d.stop()
			return nil, err
		}
		d.clients = append(d.clients, client.Client)
	}
	return d, nil
}

func (d *direct) connections() int { return len(d.clients) }

func (d *direct) stop() {
	for _, client := range d.clients {
		client.Close()
	}
}

// watch asks etcd for what the etcd3 store asks it for a watch without a
// resourceVersion: all pods, then changes with the values before them.
func (d *direct) watch(ctx context.Context, client int) (receive, error) {
	const pods = registryPrefix + podPrefix
	etcd := d.clients[client%len(d.clients)]
	ctx = clientv3.WithRequireLeader(ctx)
	current, err := etcd.Get(ctx, pods, clientv3.WithPrefix())
	if err != nil {
		return nil, fmt.Errorf("reading pods for watch %d: %w", client, err)
	}
	changes := etcd.Watch(ctx, pods, clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithRev(current.Header.Revision+1))
	var revisions []int64
	for _, kv := range current.Kvs {
		revisions = append(revisions, kv.ModRevision)
	}
	initial := true
	return func() []int64 {
		if initial {
			initial = false
			return revisions
		}
		revisions = revisions[:0]
		for len(revisions) == 0 {
			response, open := <-changes
			if !open || response.Err() != nil {
				return nil
			}
			for _, event := range response.Events {
				revisions = append(revisions, event.Kv.ModRevision)
			}
		}
		return revisions
	}, nil
}
