// Command bench measures the watch cache against Kubernetes' own, and prints both
// figures, their ratio, and what is wanted. `make bench-cacher` runs it in the
// project's folder.
//
//	go run ./cacher/bench                       the table, in less than ten minutes
//	go run ./cacher/bench -quick                one round, in two minutes
//	go run ./cacher/bench -only burst,latency   some of it
//	go run ./cacher/bench -only upstream        Kubernetes' own benchmarks
//	go run ./cacher/bench -rounds 11            slower and finer
//	go run ./cacher/bench -again                the table of the last run once more
//
// A round is one process that measures both caches, one after the other, for each
// figure. The figures are the medians of the rounds. The raw output is kept for
// benchstat:
//
//	go run golang.org/x/perf/cmd/benchstat -col /cache build/bench-cacher.txt
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// settings are what the flags say.
type settings struct {
	parts  []part
	rounds int    // of each part; 0 for the part's own
	raw    string // the file for what the benchmarks print
	again  bool   // whether raw is there already
	notes  io.Writer
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run returns 1 if the input is bad or something could not be measured. A figure
// that is missed is no failure: it is shown.
func run(arguments []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	s := settings{notes: stderr}
	only := flags.String("only", "", "measure only these, separated by commas: "+strings.Join(names(), ", ")+"; all but "+upstreamPart+" if empty")
	quick := flags.Bool("quick", false, "one round")
	flags.IntVar(&s.rounds, "rounds", 0, "number of rounds, instead of each part's own")
	flags.StringVar(&s.raw, "raw", filepath.Join("build", "bench-cacher.txt"), "the file to keep the raw output in")
	flags.BoolVar(&s.again, "again", false, "measure nothing, print the table of what the raw file has")
	err := flags.Parse(arguments)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 1
	}
	err = s.choose(*only, *quick, flags.Args())
	if err == nil {
		err = bench(s, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

func names() (all []string) {
	for _, p := range parts {
		all = append(all, p.name)
	}
	return all
}

// choose decides what is measured, and how often.
func (s *settings) choose(only string, quick bool, rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("expected flags alone, found %q", rest[0])
	case s.rounds < 0:
		return fmt.Errorf("-rounds: expected a number of at least 1, or 0 for the defaults, found %d", s.rounds)
	case quick && s.rounds == 0:
		s.rounds = 1
	}
	if only == "" {
		for _, p := range parts {
			if p.name != upstreamPart {
				s.parts = append(s.parts, p)
			}
		}
		return nil
	}
	for _, name := range strings.Split(only, ",") {
		at := slices.Index(names(), name)
		if at < 0 {
			return fmt.Errorf("-only: expected some of %s, found %q", strings.Join(names(), ", "), name)
		}
		s.parts = append(s.parts, parts[at])
	}
	return nil
}

// bench measures and prints one table.
func bench(s settings, stdout io.Writer) error {
	before := load()
	if !s.again {
		if err := measure(s); err != nil {
			return err
		}
	}
	measured, err := read(s.raw)
	if err != nil {
		return err
	}
	fmt.Fprint(stdout, measured.machine)
	if !s.again {
		fmt.Fprintf(stdout, ", load %s before and %s after", before, load())
	}
	fmt.Fprint(stdout, "\n\n")
	return printTable(stdout, s.parts, measured)
}

// load is the number of processes that want to run, averaged over a minute. Above the
// number of processors the figures say less.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	average, _, _ := strings.Cut(string(text), " ")
	return average
}
