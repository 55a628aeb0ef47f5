package simtest

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"
)

var (
	flagSeeds   = flag.String("simtest.seeds", "100", "run these seeds: a number of them, or a range such as 1000-2000")
	flagSeed    = flag.Int64("simtest.seed", -1, "run only this seed")
	flagTime    = flag.Duration("simtest.time", 0, "begin no more seeds after this time; 0 is no limit")
	flagFaults  = flag.String("simtest.faults", "", "draw only these kinds of faults, separated by commas; none for no faults")
	flagWorkers = flag.Int("simtest.workers", 0, "number of processes that simulate; 0 is one for each processor")
	flagVerify  = flag.Int("simtest.verify", 1, "run each seed this many times, each in another process, and fail unless all are the same run")
	flagNoFork  = flag.Bool("simtest.no-fork", false, "run the one seed of -simtest.seed in the process of the test, for a debugger; the run is the same")
	flagReport  = flag.String("simtest.report", "", "write the results to this file, as JSON")
	flagShrink  = flag.Duration("simtest.shrink", time.Minute, "spend at most this long on dropping faults that a failure does not need; 0 keeps all")
)

// seeds are the seeds that the flags ask for, from the first to the last.
func seeds() (first, last uint64, err error) {
	if *flagSeed >= 0 {
		return uint64(*flagSeed), uint64(*flagSeed), nil
	}
	from, to, isRange := strings.Cut(*flagSeeds, "-")
	if !isRange {
		from, to = "1", from
	}
	if first, err = strconv.ParseUint(from, 10, 63); err == nil {
		last, err = strconv.ParseUint(to, 10, 63)
	}
	if err != nil || last < first {
		return 0, 0, fmt.Errorf("expected -simtest.seeds to be a number above 0 or a range such as 1000-2000, found %q", *flagSeeds)
	}
	return first, last, nil
}

// closing is how much of -timeout is reserved for the last runs and the report, besides -simtest.shrink.
const closing = 30 * time.Second

// deadline is when no more seeds begin, and the flag that set it. timeout is when the test panics,
// if it has a timeout.
func deadline(timeout time.Time, has bool) (until time.Time, flag string) {
	now := time.Now()
	until = now.Add(365 * 24 * time.Hour)
	if has {
		left := timeout.Sub(now)
		until, flag = timeout.Add(-min(left/2, closing+*flagShrink)), "-timeout"
	}
	if *flagTime != 0 && now.Add(*flagTime).Before(until) {
		until, flag = now.Add(*flagTime), "-simtest.time"
	}
	return until, flag
}
