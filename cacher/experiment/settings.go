package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are what is measured, with what load.
type settings struct {
	Variants      []string
	Watches       []int         // numbers of watches, one measurement for each
	Rounds        int           // how often everything is measured
	Rate          int           // writes a second
	Seconds       int           // of writing
	Pods          int           // that exist, and are updated in turn
	Bytes         int           // of payload in each pod
	PerConnection int           // watches on a connection of etcd-spread
	Patience      time.Duration // with one watch that opens, and with the last events
}

// quick is what -quick changes.
var quick = map[string]string{"watches": "1,10,100", "rate": "10", "seconds": "1"}

// writes is how many writes one measurement has.
func (s settings) writes() int { return s.Rate * s.Seconds }

// options are the settings, and where results come from and go to.
type options struct {
	settings
	out  string // folder
	from string // a file of results to draw instead of measuring
}

// parse reads the flags. It prints help to the writer, and then fails with
// flag.ErrHelp.
func parse(arguments []string, help io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("experiment", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var names []string
	for _, v := range variants {
		names = append(names, v.name)
	}
	chosen := flags.String("variants", strings.Join(names, ","), "what serves the watches, separated by commas")
	counts := flags.String("watches", "1,10,100,1000,10000", "numbers of watches to measure, separated by commas")
	flags.IntVar(&o.Rounds, "rounds", 1, "how often to measure everything; medians are shown")
	flags.IntVar(&o.Rate, "rate", 2, "writes a second")
	flags.IntVar(&o.Seconds, "seconds", 5, "how long to write")
	flags.IntVar(&o.Pods, "pods", 10, "pods that exist, and are updated in turn")
	flags.IntVar(&o.Bytes, "bytes", 1024, "payload of each pod")
	flags.IntVar(&o.PerConnection, "per-connection", 100, "watches that share a connection in etcd-spread")
	flags.DurationVar(&o.Patience, "patience", time.Minute, "how long to wait for one watch to open, and for the last events")
	flags.StringVar(&o.out, "out", "out/experiment", "folder for results.json and plot.svg")
	flags.StringVar(&o.from, "from", "", "show the results of this results.json, and measure nothing")
	isQuick := flags.Bool("quick", false, "measure for seconds instead of minutes: up to 100 watches, one second of writing")
	if err := flags.Parse(arguments); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(help)
		flags.Usage()
		return o, err
	} else if err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("expected flags only, found %q", flags.Arg(0))
	}
	if *isQuick {
		given := map[string]bool{}
		flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
		for name, value := range quick {
			if !given[name] {
				if err := flags.Set(name, value); err != nil {
					return o, err
				}
			}
		}
	}
	for name := range strings.SplitSeq(*chosen, ",") {
		if !slices.Contains(names, name) {
			return o, fmt.Errorf("expected -variants to be among %s, found %q", strings.Join(names, ", "), name)
		}
		o.Variants = append(o.Variants, name)
	}
	for text := range strings.SplitSeq(*counts, ",") {
		count, err := strconv.Atoi(text)
		if err != nil || count < 1 || count > 100_000 {
			return o, fmt.Errorf("expected -watches to be numbers from 1 to 100000, found %q", text)
		}
		o.Watches = append(o.Watches, count)
	}
	return o, o.check()
}

// check says what is wrong with the numbers.
func (s settings) check() error {
	for _, number := range []struct {
		flag         string
		found, limit int
	}{
		{"rounds", s.Rounds, 100}, {"rate", s.Rate, 10_000}, {"seconds", s.Seconds, 3600}, {"pods", s.Pods, 100_000},
		{"bytes", s.Bytes, 1 << 20}, {"per-connection", s.PerConnection, 100_000},
	} {
		if number.found < 1 || number.found > number.limit {
			return fmt.Errorf("expected -%s to be from 1 to %d, found %d", number.flag, number.limit, number.found)
		}
	}
	if s.Patience <= 0 {
		return fmt.Errorf("expected -patience to be more than 0, found %v", s.Patience)
	}
	return nil
}
