// Command bench measures what the project promises: speed, by itself and against another
// binary, the share of checking, the first run, memory, the price of simulation, and
// the oracle on histories larger than any run's. `make bench` runs it in the project's
// folder, after bin/simrun has been built.
//
//	go run ./search/bench                       everything
//	go run ./search/bench -only minute,quorum   some of it
//	go run ./search/bench -seeds 50             quicker and coarser
//	go run ./search/bench -since 6bd9c49        with the binary of a commit beside it
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// row is one line of the table.
type row struct {
	what, found, target string
	met                 bool
}

// part is one measurement.
type part struct {
	name    string
	measure func(settings) ([]row, error)
}

// settings are what the flags say.
type settings struct {
	simrun string
	old    string // the binary to compare it with, "" for none
	since  string // the commit to build that binary of, "" for none
	turns  int    // of the two binaries
	seeds  int    // of a speed measurement
	many   int    // of the memory measurement
	pairs  int    // of the same work in a simulation and outside
	notes  io.Writer
}

var parts = []part{
	{"minute", func(s settings) ([]row, error) { return speed(s, "minute", s.seeds, 60) }},
	{"quorum", func(s settings) ([]row, error) { return speed(s, "quorum", max(1, s.seeds/4), 8) }},
	{"against", against},
	{"first", first},
	{"memory", memory},
	{"price", price},
	{"oracle", oracle},
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(arguments []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	s := settings{notes: stderr}
	only := flags.String("only", "", "measure only these, separated by commas: "+strings.Join(names(), ", "))
	flags.StringVar(&s.simrun, "simrun", "bin/simrun", "the binary to measure")
	flags.StringVar(&s.old, "old", "", "another binary to compare the processor time of a seed with")
	flags.StringVar(&s.since, "since", "", "a commit to build that binary of")
	flags.IntVar(&s.turns, "turns", 3, "number of times that each of the two binaries runs its seeds")
	flags.IntVar(&s.seeds, "seeds", 400, "number of seeds to measure speed with; a quarter of it for quorum")
	flags.IntVar(&s.many, "memory-seeds", 2000, "number of seeds to measure memory with")
	flags.IntVar(&s.pairs, "pairs", 9, "number of times that the same work is done in a simulation and outside")
	if flags.Parse(arguments) != nil {
		return 2
	}
	chosen, err := choose(*only)
	if err == nil {
		err = bench(chosen, s, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
	return 0
}

func names() (all []string) {
	for _, p := range parts {
		all = append(all, p.name)
	}
	return all
}

func choose(only string) ([]part, error) {
	if only == "" {
		return parts, nil
	}
	var chosen []part
	for _, name := range strings.Split(only, ",") {
		at := slices.Index(names(), name)
		if at < 0 {
			return nil, fmt.Errorf("-only: expected some of %s, found %q", strings.Join(names(), ", "), name)
		}
		chosen = append(chosen, parts[at])
	}
	return chosen, nil
}

// bench measures and prints one table. A figure that is missed is marked; it
// is no error, because machines differ.
func bench(chosen []part, s settings, stdout io.Writer) error {
	fmt.Fprintln(stdout, machine())
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nmeasured\tfound\ttarget\t")
	for _, p := range chosen {
		rows, err := p.measure(s)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for _, r := range rows {
			verdict := "met"
			switch {
			case r.target == "":
				verdict = ""
			case !r.met:
				verdict = "MISSED"
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.what, r.found, r.target, verdict)
		}
	}
	return table.Flush()
}
