// Command price does the same work inside a simulation and outside of one, and prints the
// nanoseconds of processor time that one piece of it takes. Built with the toolchain
// overlay it simulates, with yields and without stalls and faults; built without it, it
// runs on the real clock, over sockets and files of the system.
//
//	price channels N     N round trips between two goroutines over unbuffered channels
//	price operations N   N writes to an API server over etcd, each seen by a watch
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/cacher"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/simdisk"
)

// work does something several times. It calls warm, and finish when it is done; what is
// between the two counts.
type work func(times int, warm, finish func()) error

var works = map[string]work{"channels": channels, "operations": operations}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "price:", err)
		os.Exit(2)
	}
}

func run(arguments []string) error {
	times := 0
	if len(arguments) == 2 {
		times, _ = strconv.Atoi(arguments[1])
	}
	if times < 1 || works[arguments[0]] == nil {
		return fmt.Errorf("expected channels or operations, and how often, found %q", strings.Join(arguments, " "))
	}
	do := works[arguments[0]]
	var began, ended unix.Rusage
	var failed error
	if sim.Available() != nil {
		failed = do(times, func() { usage(&began) }, func() { usage(&ended) })
	} else {
		limits := sim.DefaultLimits
		limits.Decisions, limits.Simulated = math.MaxInt64, math.MaxInt64
		schedule := sim.DefaultSchedule
		schedule.StallOneIn = math.MaxUint32
		result, err := sim.Run(sim.Config{Source: sim.FromSeed(1), Limits: limits, Schedule: schedule}, func(world *sim.World) {
			failed = do(times, func() { world.Pause(func() { usage(&began) }) }, func() { world.Pause(func() { usage(&ended) }) })
		})
		if err == nil && result.Stop != sim.Completed {
			err = errors.New(result.Stop.String())
		}
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		return failed
	}
	spent := ended.Utime.Nano() + ended.Stime.Nano() - began.Utime.Nano() - began.Stime.Nano()
	fmt.Println(float64(spent) / float64(times))
	return nil
}

func usage(into *unix.Rusage) { _ = unix.Getrusage(unix.RUSAGE_SELF, into) }

func channels(times int, warm, finish func()) error {
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
}

// operations writes to one API server over one member, and waits each time until a watch
// has told of it.
func operations(times int, warm, finish func()) error {
	dir := simdisk.Root
	if sim.Available() != nil {
		var err error
		if dir, err = os.MkdirTemp("", "watchsim-price-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if err := os.Chdir(dir); err != nil { // where the members' sockets are
			return err
		}
	}
	made := cacher.New()
	member, err := etcd.Start(etcd.Config{Release: made.Etcd(), Name: "etcd-0", Dir: dir + "/data", Cluster: []string{"etcd-0"}})
	if err != nil {
		return err
	}
	defer member.Stop()
	<-member.Ready()
	server, err := made.Start(target.ServerConfig{Name: "apiserver-0", Endpoints: []string{etcd.ClientURL("etcd-0")}})
	if err != nil {
		return err
	}
	defer server.Stop()
	ctx := context.Background()
	write := func(kind model.Kind, i int) (int64, error) {
		op := model.Operation{Kind: kind, Object: &model.Object{Namespace: "n", Name: strconv.Itoa(i % 10), Value: strconv.Itoa(i)}}
		server.Do(ctx, &op, "")
		if op.Err != model.OK {
			return 0, fmt.Errorf("%s: %s: %s", kind, op.Err, op.Message)
		}
		return op.ResultRV, nil
	}
	for list := (model.Operation{Kind: model.List, Err: model.Unknown}); list.Err != model.OK; {
		list = model.Operation{Kind: model.List}
		server.Do(ctx, &list, "")
		time.Sleep(time.Millisecond)
	}
	watch := server.Watch(ctx, &model.Stream{})
	for i := range times/10 + times + 10 {
		kind := model.Update
		if i < 10 {
			kind = model.Create
		}
		if i == times/10+10 {
			warm()
		}
		rv, err := write(kind, i)
		if err != nil {
			return err
		}
		for told := int64(0); told < rv; {
			event, why, ok := watch.Next()
			if !ok {
				return fmt.Errorf("the watch ended: %v", why)
			}
			told = event.RV
		}
	}
	finish()
	watch.Stop()
	return nil
}
