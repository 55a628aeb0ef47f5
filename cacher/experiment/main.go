// Command experiment answers one question: what does a watch cache save etcd?
//
// It opens up to 10,000 watches of the same pods, directly in etcd or through a
// watch cache, writes, and measures etcd's CPU time, etcd's number of watches, and
// how long events take to reach the clients. Etcd is the released one, in a
// process of its own; the clients, and the cache if there is one, are in this
// process. It runs on Linux only, which tells one process the CPU time of another.
//
//	go run ./cacher/experiment           up to 10,000 watches, in some minutes
//	go run ./cacher/experiment -quick    up to 100 watches, in some seconds
//	go run ./cacher/experiment -help     the flags
//
// The measurements go to results.json and the plot to plot.svg, in the folder that
// -out names; a table goes to the terminal. The exit code is 0 if every watch got
// every event once and in order, 1 if not or if measuring failed, and 2 if the
// flags were wrong. docs/cacher-experiment.md says what was found.
//
// Where to look:
//
//   - settings.go: the flags
//   - variants.go, direct.go, cached.go: what serves the watches
//   - etcd.go, process_linux.go: the etcd process, and what is read from it
//   - measure.go, pods.go, writes.go, clients.go: one measurement
//   - check.go: whether every client got every event
//   - results.go, table.go, plot.go: what is written and shown
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// The exit codes.
const (
	exitDelivered = iota
	exitFailed
	exitUsage
)

func main() {
	if folder := os.Getenv(etcdFolder); folder != "" {
		if err := serveEtcd(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitFailed)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, arguments []string, stdout, stderr io.Writer) int {
	o, err := parse(arguments, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitDelivered
	case err != nil:
		fmt.Fprintf(stderr, "experiment: %v; -help lists the flags\n", err)
		return exitUsage
	}
	found, err := obtain(ctx, o, stderr)
	if len(found.Points) > 0 {
		// What was measured is kept and shown first, whatever has gone wrong.
		err = errors.Join(err, found.save(o.out))
		err = errors.Join(err, found.table(stdout))
		fmt.Fprintf(stdout, "\n%s and %s in %s\n", resultsFile, plotFile, o.out)
	}
	if err != nil {
		fmt.Fprintln(stderr, "experiment:", err)
		return exitFailed
	}
	sentence, delivered := found.verdict()
	fmt.Fprintln(stdout, sentence)
	if !delivered {
		return exitFailed
	}
	return exitDelivered
}

// obtain measures, or reads what was measured before.
func obtain(ctx context.Context, o options, progress io.Writer) (results, error) {
	if o.from != "" {
		return load(o.from)
	}
	found := results{Machine: machine(), Settings: o.settings}
	for round := range o.Rounds {
		for _, watches := range o.Watches {
			for _, v := range variants {
				if !slices.Contains(o.Variants, v.name) {
					continue
				}
				start := time.Now()
				fmt.Fprintf(progress, "round %d of %d: %s, %d watches ", round+1, o.Rounds, v.name, watches)
				p, err := measure(ctx, v, watches, o.settings)
				if err != nil {
					fmt.Fprintln(progress)
					return found, fmt.Errorf("%s with %d watches: %w", v.name, watches, err)
				}
				fmt.Fprintf(progress, "took %v\n", time.Since(start).Round(100*time.Millisecond))
				found.Points = append(found.Points, p)
			}
		}
	}
	return found, nil
}
