package cacher_test

import (
	"context"
	"errors"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/cacher"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/simdisk"
)

// The benchmarks of this file do the same work inside a simulation (with yields, but
// without stalls and faults) if the test is built with the toolchain overlay, and
// otherwise outside it, on the real clock and with the system's sockets and files. make
// bench-price alternates both. A process can simulate only once, so each benchmark
// needs its own process and -benchtime 1x.

// measured reports the processor time per repetition of work, which repeats something
// times times between its calls of warm and finish.
func measured(b *testing.B, times int, work func(warm, finish func()) error) {
	var began, ended unix.Rusage
	read := func(into *unix.Rusage) func() { return func() { _ = unix.Getrusage(unix.RUSAGE_SELF, into) } }
	if sim.Available() != nil {
		require.NoError(b, work(read(&began), read(&ended)))
	} else {
		limits, schedule := sim.DefaultLimits, sim.DefaultSchedule
		limits.Decisions, limits.Simulated = math.MaxInt64, math.MaxInt64
		schedule.StallOneIn = math.MaxUint32
		var failed error
		result, err := sim.Run(sim.Config{Source: sim.FromSeed(1), Limits: limits, Schedule: schedule}, func(world *sim.World) {
			failed = work(func() { world.Pause(read(&began)) }, func() { world.Pause(read(&ended)) })
		})
		require.NoError(b, errors.Join(failed, err))
		require.Equal(b, sim.Completed, result.Stop)
	}
	used := ended.Utime.Nano() + ended.Stime.Nano() - began.Utime.Nano() - began.Stime.Nano()
	b.ReportMetric(float64(used)/float64(times), "cpu-ns/op")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkChannels measures round trips between two goroutines over unbuffered channels.
func BenchmarkChannels(b *testing.B) {
	const times = 1_000_000
	measured(b, times, func(warm, finish func()) error {
		ping, pong := make(chan int), make(chan int)
		go func() {
			for i := range ping {
				pong <- i
			}
			close(pong)
		}()
		for i := range times/100 + times {
			if i == times/100 {
				warm()
			}
			ping <- i
			<-pong
		}
		finish()
		close(ping)
		<-pong
		return nil
	})
}

// BenchmarkWrites measures writes through an API server over one etcd member. Each
// waits until a watch has received it.
func BenchmarkWrites(b *testing.B) {
	const times = 2000
	dir := simdisk.Root
	if sim.Available() != nil {
		dir = b.TempDir()
		b.Chdir(dir) // the folder of the member's sockets
	}
	measured(b, times, func(warm, finish func()) error {
		made := cacher.New()
		member, err := etcd.Start(etcd.Config{Release: made.Etcd(), Name: "etcd-0", Dir: dir + "/data", Cluster: []string{"etcd-0"}})
		if err != nil {
			return err
		}
		defer member.Stop()
		<-member.Ready()
		started, err := made.Start(target.ServerConfig{Name: "apiserver-0", Endpoints: []string{etcd.ClientURL("etcd-0")}})
		if err != nil {
			return err
		}
		server := started.(target.Storage)
		defer server.Stop()
		ctx := context.Background()
		for list := (model.Operation{Kind: model.List, Err: model.Unknown}); list.Err != model.OK; {
			list = model.Operation{Kind: model.List}
			server.Do(ctx, &list, "")
			time.Sleep(time.Millisecond)
		}
		watch := server.Watch(ctx, &model.Stream{})
		defer watch.Stop()
		const objects = 10
		for i := range objects + times/10 + times {
			op := model.Operation{Kind: model.Update, Object: &model.Object{Namespace: "n", Name: strconv.Itoa(i % objects), Value: strconv.Itoa(i)}}
			if i < objects {
				op.Kind = model.Create
			}
			if i == objects+times/10 {
				warm()
			}
			server.Do(ctx, &op, "")
			if op.Err != model.OK {
				return errors.New(op.Message)
			}
			for rv := int64(0); rv < op.ResultRV; {
				event, _, ok := watch.Next()
				if !ok {
					return errors.New("expected the watch to stay open, found it closed")
				}
				rv = event.RV
			}
		}
		finish()
		return nil
	})
}
