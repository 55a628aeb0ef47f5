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
	flagWorkers = flag.Int("simtest.workers", 0, "simulate in so many processes at once; 0 is one for each processor")
	flagShrink  = flag.Duration("simtest.shrink", 20*time.Second, "spend at most so long on dropping faults that a failure does not need; 0 keeps all")
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

// deadline is when no more seeds begin.
func deadline() time.Time {
	if *flagTime == 0 {
		return time.Now().Add(365 * 24 * time.Hour)
	}
	return time.Now().Add(*flagTime)
}
