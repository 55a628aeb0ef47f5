package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// columns are what the table shows of each variant and number of watches: medians
// over the rounds.
var columns = []struct {
	head   string
	format string
	figure func(point) float64
}{
	{"etcd's watches", "%.0f", func(p point) float64 { return float64(p.EtcdWatchers) }},
	{"etcd MiB", "%.0f", func(p point) float64 { return float64(p.EtcdResidentBytes) / (1 << 20) }},
	{"open: etcd CPU ms", "%.1f", openEtcdMillis},
	{"client CPU ms", "%.1f", func(p point) float64 { return 1000 * p.OpenClientCPUSeconds }},
	{"a write: etcd CPU ms", "%.1f", etcdMillisPerWrite},
	{"client CPU ms", "%.1f", func(p point) float64 { return 1000 * p.ClientCPUSeconds / float64(p.Writes) }},
	{"write p50 ms", "%.1f", func(p point) float64 { return p.WriteP50Millis }},
	{"event p50 ms", "%.1f", func(p point) float64 { return p.LatencyP50Millis }},
	{"p99 ms", "%.1f", func(p point) float64 { return p.LatencyP99Millis }},
}

func openEtcdMillis(p point) float64     { return 1000 * p.OpenEtcdCPUSeconds }
func etcdMillisPerWrite(p point) float64 { return 1000 * p.EtcdCPUSeconds / float64(p.Writes) }

// table prints the figures, and how many events were missing in all rounds.
func (r results) table(to io.Writer) error {
	fmt.Fprintf(to, "%s\n%d rounds; %d writes a second for %d s; %d pods of %d bytes\n\n", r.Machine,
		r.Settings.Rounds, r.Settings.Rate, r.Settings.Seconds, r.Settings.Pods, r.Settings.Bytes)
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "watches\tof\t")
	for _, c := range columns {
		fmt.Fprintf(w, "%s\t", c.head)
	}
	fmt.Fprintln(w, "missing\t")
	for _, v := range variants {
		for _, rounds := range r.of(v.name) {
			fmt.Fprintf(w, "%d\t%s\t", rounds[0].Watches, v.name)
			for _, c := range columns {
				fmt.Fprintf(w, c.format+"\t", rounds.median(c.figure))
			}
			missing := 0
			for _, p := range rounds {
				missing += p.Delivery.Missing
			}
			fmt.Fprintf(w, "%d\t\n", missing)
		}
	}
	return w.Flush()
}
