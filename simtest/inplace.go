package simtest

import (
	"os"
	"runtime"
	"syscall"

	"github.com/watchsim/watchsim/sim"
)

// inPlace runs a job in this process, where a debugger sees it, instead of in a copy of a worker.
// It is the same run. If this binary does not simulate, it replaces itself with one that does.
func (h *hunt) inPlace(config Config, body func(*T, *Cluster), next job) error {
	if !simulates {
		h.t.Logf("the run is in the process of %s", h.program)
		return syscall.Exec(h.program, append([]string{h.program}, os.Args[1:]...), os.Environ())
	}
	runtime.GOMAXPROCS(1)
	settle()
	r := &run{config: config, t: h.t, body: body, begin: func() (job, error) { return next, nil }, drawn: newDrawn(nil)}
	result, err := sim.Run(bootWorld(), r.live)
	if err == nil {
		err = r.failed
	}
	if err != nil {
		return err
	}
	r.finish(result)
	h.note(r.report)
	return nil
}
