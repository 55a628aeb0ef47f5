package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

// point is one measurement: one variant with one number of watches.
type point struct {
	Variant     string
	Watches     int
	Connections int // from the clients, or their cache, to etcd

	// Opening all watches, until each has the pods that were there.
	OpenSeconds, OpenEtcdCPUSeconds, OpenClientCPUSeconds float64
	// EtcdWatchers is how many watches etcd serves then, by its own metric.
	EtcdWatchers int

	// Writing, until every event has come.
	Writes                             int
	WriteSeconds                       float64
	EtcdCPUSeconds, ClientCPUSeconds   float64
	EtcdResidentBytes                  int64
	WriteP50Millis, WriteP99Millis     float64 // a write, until it is acknowledged
	LatencyP50Millis, LatencyP99Millis float64 // from when a write is sent until a client has its event
	LatencyMaxMillis                   float64
	Delivery                           delivery
}

// measure does one measurement with an etcd of its own.
func measure(ctx context.Context, v variant, watches int, s settings) (result point, err error) {
	etcd, err := startEtcd(ctx)
	if err != nil {
		return point{}, err
	}
	defer func() { err = errors.Join(err, etcd.stop()) }()
	ctx, cancel := etcd.whileItRuns(ctx)
	defer cancel(nil)
	store, closeStore, err := openStore(etcd.address)
	if err != nil {
		return point{}, err
	}
	defer closeStore()
	writer := newWriter(store, s.Bytes)
	initial := make([]int64, s.Pods)
	for i := range initial {
		if initial[i], err = writer.create(ctx, i); err != nil {
			return point{}, fmt.Errorf("creating pod %d: %w", i, err)
		}
	}
	from, err := v.start(ctx, etcd.address, watches, s)
	if err != nil {
		return point{}, err
	}
	defer from.stop()
	watching, endWatches := context.WithCancel(ctx)
	all := newClients(watches, len(initial), s.writes())
	defer func() { endWatches(); all.running.Wait() }()
	debug.FreeOSMemory() // what earlier measurements left is not collected at the cost of this one

	result = point{Variant: v.name, Watches: watches, Connections: from.connections(), Writes: s.writes()}
	opening, err := readMeters(etcd)
	if err != nil {
		return point{}, err
	}
	stuck := time.AfterFunc(s.Patience, func() {
		cancel(fmt.Errorf("expected each watch of %s to open within %v, found one that does not", v.name, s.Patience))
	})
	defer stuck.Stop()
	for range watches {
		stuck.Reset(s.Patience)
		if err := all.open(watching, from); err != nil {
			return point{}, explain(ctx, err)
		}
	}
	stuck.Stop()
	if reached, err := all.opened.wait(ctx, s.Patience); err != nil {
		return point{}, err
	} else if !reached {
		return point{}, fmt.Errorf("expected %d watches of %s to have all pods after %v, found that some do not", watches, v.name, s.Patience)
	}
	result.OpenSeconds, result.OpenEtcdCPUSeconds, result.OpenClientCPUSeconds, err = opening.until(etcd)
	if err != nil {
		return point{}, err
	}
	if result.EtcdWatchers, err = etcd.watchers(ctx); err != nil {
		return point{}, err
	}

	writing, err := readMeters(etcd)
	if err != nil {
		return point{}, err
	}
	writes, err := writeAtRate(ctx, writer, all.start, s)
	if err != nil {
		return point{}, explain(ctx, err)
	}
	if _, err := all.delivered.wait(ctx, s.Patience); err != nil {
		return point{}, err
	}
	result.WriteSeconds, result.EtcdCPUSeconds, result.ClientCPUSeconds, err = writing.until(etcd)
	if err != nil {
		return point{}, err
	}
	if result.EtcdResidentBytes, err = residentBytes(etcd.pid()); err != nil {
		return point{}, err
	}
	endWatches()
	all.running.Wait()
	result.judge(initial, writes, all.all)
	return result, nil
}

// explain adds to an error why ctx has ended, if it has.
func explain(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// judge fills in what follows from what was written and received.
func (p *point) judge(initial []int64, writes []write, all []*client) {
	acknowledged := acknowledgements(writes)
	p.WriteP50Millis, p.WriteP99Millis = millis(quantile(acknowledged, 0.5)), millis(quantile(acknowledged, 0.99))
	var latencies []time.Duration
	p.Delivery, latencies = check(initial, writes, all)
	p.LatencyP50Millis, p.LatencyP99Millis = millis(quantile(latencies, 0.5)), millis(quantile(latencies, 0.99))
	p.LatencyMaxMillis = millis(quantile(latencies, 1))
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// meters are what a phase is measured with.
type meters struct {
	at           time.Time
	etcd, client time.Duration // CPU time
}

func readMeters(etcd *etcdProcess) (m meters, err error) {
	if m.etcd, err = cpuTime(etcd.pid()); err != nil {
		return m, err
	}
	m.client, err = cpuTime(os.Getpid())
	m.at = time.Now()
	return m, err
}

// until returns the seconds that have passed, and that each process was on a CPU.
func (m meters) until(etcd *etcdProcess) (wall, etcdCPU, clientCPU float64, err error) {
	now, err := readMeters(etcd)
	return now.at.Sub(m.at).Seconds(), (now.etcd - m.etcd).Seconds(), (now.client - m.client).Seconds(), err
}
