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
			return point{}, explain(ctx, fmt.Errorf("creating pod %d: %w", i, err))
		}
	}
	from, err := v.start(ctx, etcd.address, watches, s)
	if err != nil {
		return point{}, explain(ctx, err)
	}
	defer from.stop()
	watching, endWatches := context.WithCancelCause(ctx)
	all := newClients(watches, len(initial), s.writes())
	end := func() { endWatches(nil); all.running.Wait() }
	defer end()
	debug.FreeOSMemory() // what earlier measurements left is not collected at the cost of this one

	result = point{Variant: v.name, Watches: watches, Connections: from.connections(), Writes: s.writes()}
	if err := result.open(watching, endWatches, all, from, etcd, s); err != nil {
		return point{}, explain(watching, err)
	}
	writes, err := result.write(ctx, writer, all, etcd, s)
	if err != nil {
		return point{}, explain(ctx, err)
	}
	end()
	result.judge(initial, writes, all.all)
	return result, nil
}

// open opens all watches, one after another, and waits until each has the pods
// that are there. If one takes too long, it ends them all.
func (p *point) open(ctx context.Context, giveUp context.CancelCauseFunc, all *clients, from source, etcd *etcdProcess, s settings) error {
	before, err := readMeters(etcd)
	if err != nil {
		return err
	}
	stuck := time.AfterFunc(s.Patience, func() {
		giveUp(fmt.Errorf("expected each watch to open within %v, found one that does not", s.Patience))
	})
	defer stuck.Stop()
	for range p.Watches {
		stuck.Reset(s.Patience)
		if err := all.open(ctx, from); err != nil {
			return err
		}
	}
	stuck.Stop()
	reached, err := all.opened.wait(ctx, s.Patience)
	if err != nil {
		return err
	}
	if !reached {
		return fmt.Errorf("expected each watch to have all pods after %v, found that some do not", s.Patience)
	}
	if p.OpenSeconds, p.OpenEtcdCPUSeconds, p.OpenClientCPUSeconds, err = before.until(etcd); err != nil {
		return err
	}
	p.EtcdWatchers, err = etcd.watchers(ctx)
	return err
}

// write writes, and waits until every client has every event, or until there is no
// more patience.
func (p *point) write(ctx context.Context, w *writer, all *clients, etcd *etcdProcess, s settings) ([]write, error) {
	before, err := readMeters(etcd)
	if err != nil {
		return nil, err
	}
	writes, err := writeAtRate(ctx, w, all.start, s)
	if err != nil {
		return nil, err
	}
	if _, err := all.delivered.wait(ctx, s.Patience); err != nil {
		return nil, err
	}
	if p.WriteSeconds, p.EtcdCPUSeconds, p.ClientCPUSeconds, err = before.until(etcd); err != nil {
		return nil, err
	}
	p.EtcdResidentBytes, err = residentBytes(etcd.pid())
	return writes, err
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
