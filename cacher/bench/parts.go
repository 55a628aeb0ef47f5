package main

// part is a group of benchmarks that run together, and the rows that they fill.
type part struct {
	name      string
	pattern   string // of the benchmarks, as go test -bench takes it
	benchtime string
	rounds    int
	rows      []row
}

// row is one line of the table: a figure of one benchmark.
type row struct {
	what string
	// benchmark is the benchmark's name without Benchmark and without the cache.
	benchmark string
	unit      string
	wanted    wanted
	// best says that benchmark is only the beginning of a name, and that each cache is
	// taken where it does best without closing a watch.
	best bool
}

// wanted is what the ratio of this cache's figure to Kubernetes' should be.
type wanted struct {
	kind  wantedKind
	ratio float64
}

type wantedKind int

const (
	forInformation wantedKind = iota
	atLeast
	atMost
	notMore // or no more than chance makes of it
	none    // this cache's figure is 0
)

// upstreamPart are Kubernetes' own benchmarks. All that they measure is shown. They
// take minutes, and are measured only if asked for.
const upstreamPart = "upstream"

// parts are all that is measured, in the order of the table.
var parts = []part{
	{"sustained", "^BenchmarkSustained$", "1x", 4, []row{
		{"sustained deliveries a second, 10,000 watches", "Sustained", "deliveries/s", wanted{atLeast, 5}, true},
		{"processor time a delivery, at the same", "Sustained", "cpu-sec/delivery", wanted{}, true},
	}},
	{"burst", "^BenchmarkBurst$", "1x", 3, []row{
		{"burst of 300 at 10,000 watches: closed", "Burst/events=300", "closed", wanted{none, 0}, false},
		{"burst of 300: time until all have it or are closed", "Burst/events=300", "sec/op", wanted{}, false},
		{"burst of 3,000 at 10,000 watches: closed", "Burst/events=3000", "closed", wanted{none, 0}, false},
		{"burst of 3,000: time until all have it or are closed", "Burst/events=3000", "sec/op", wanted{}, false},
	}},
	{"idle", "^BenchmarkIdle$", "1x", 5, []row{
		{"memory of an idle watch", "Idle", "B/watch", wanted{atMost, 0.5}, false},
	}},
	{"establish", "^BenchmarkEstablish$", "1x", 3, []row{
		{"10,000 watches from RV 0 with 1,000 objects", "Establish", "sec/op", wanted{atMost, 0.5}, false},
	}},
	{"latency", "^BenchmarkLatency$", "1x", 4, []row{
		{"latency at 10,000 watches, 20 events a second: p99", "Latency", "p99-sec", wanted{atMost, 0.5}, false},
		{"the same: p50", "Latency", "p50-sec", wanted{}, false},
	}},
	{"kubelets", "^BenchmarkKubelets$", "1s", 5, []row{
		{"an event for 1 of 10,000 kubelets", "Kubelets", "sec/op", wanted{notMore, 1}, false},
	}},
	{"objects", "^BenchmarkObjects$", "0.5s", 4, objectRows()},
	{upstreamPart, "^BenchmarkUpstream", "0.1s", 3, nil},
}

// objectRows are the lists from both sizes of cache, and how the larger begins.
func objectRows() (rows []row) {
	for _, size := range []struct{ count, text string }{{"10000", "10,000"}, {"150000", "150,000"}} {
		for _, list := range []struct{ name, text string }{
			{"list", "list of " + size.text},
			{"page", "list of " + size.text + " in pages of 500"},
			{"index", "25 of " + size.text + " by index"},
		} {
			benchmark := "Objects/objects=" + size.count + "/do=" + list.name
			rows = append(rows,
				row{list.text + ": time", benchmark, "sec/op", wanted{notMore, 1}, false},
				row{list.text + ": bytes", benchmark, "B/op", wanted{notMore, 1}, false},
				row{list.text + ": allocations", benchmark, "allocs/op", wanted{notMore, 1}, false})
		}
	}
	return append(rows,
		row{"initialisation from 150,000: time", "Objects/objects=150000/do=initialise", "sec/op", wanted{notMore, 1}, false},
		row{"initialisation from 150,000: growth of the heap", "Objects/objects=150000/do=initialise", "peak-B", wanted{notMore, 1}, false})
}
