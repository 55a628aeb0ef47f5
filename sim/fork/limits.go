package fork

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Limits bound a copy.
type Limits struct {
	// Processor is processor time, rounded up to seconds.
	Processor time.Duration
	// Clock is wall-clock time. On a busy machine, a copy may get only a few percent of a
	// processor.
	Clock time.Duration
	// Memory is by how many bytes the copy's address space may grow. Go reserves far more addresses
	// than memory, so a limit on the total would mean little.
	Memory int64
}

// DefaultLimits is generous for one run.
var DefaultLimits = Limits{Processor: 2 * time.Minute, Clock: 20 * time.Minute, Memory: 6 << 30}

// String lists the limits for a banner.
func (l Limits) String() string {
	return fmt.Sprintf("%v of processor time, %v on the clock and %d MiB more memory a run", l.Processor, l.Clock, l.Memory>>20)
}

// Limit applies the limits to this process, which is a copy, from here on.
func (c *Copy) Limit() error {
	seconds := uint64((c.limits.Processor + time.Second - 1) / time.Second)
	size, err := addressSpace()
	if err != nil {
		return err
	}
	for resource, limit := range map[int]uint64{
		unix.RLIMIT_CPU:  seconds,
		unix.RLIMIT_AS:   size + uint64(c.limits.Memory),
		unix.RLIMIT_CORE: 0,
	} {
		var now unix.Rlimit
		if err := unix.Getrlimit(resource, &now); err != nil {
			return fmt.Errorf("cannot read the limits of a copy of this process: %w", err)
		}
		if limit >= now.Max {
			continue // what this process was started with is stricter
		}
		// The system signals the soft limit of processor time by SIGXCPU, which Go ignores,
		// and kills at the hard one. It counts in ticks: one more second makes sure that
		// the reported time is above the limit.
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: min(limit+1, now.Max)}); err != nil {
			return fmt.Errorf("cannot limit a copy of this process: %w", err)
		}
	}
	return nil
}

// addressSpace returns the size of this process' address space, in bytes.
func addressSpace() (uint64, error) {
	var text [64]byte
	fd, err := unix.Open("/proc/self/statm", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, text[:])
	if err != nil {
		return 0, err
	}
	size, _, _ := strings.Cut(string(text[:n]), " ")
	pages, err := strconv.ParseUint(size, 10, 64)
	return pages * uint64(os.Getpagesize()), err
}
