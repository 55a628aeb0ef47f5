package controlplane

import (
	"fmt"
	"strings"
	"time"

	"github.com/watchsim/watchsim/simtest"
)

// Calm says that everything has converged, so that from now on nothing is wrong that released programs exit for.
func (p *Plane) Calm(now time.Duration) { p.calm = now }

// endings checks how controller managers and schedulers ended: within the grace period when they were told to stop, whatever does not answer them
// (kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle: termination of pods), and otherwise only while something was wrong.
func (p *Plane) endings(seen simtest.Seen) (broken []string) {
	for _, e := range seen.Endings {
		at := e.At.Round(time.Millisecond)
		switch {
		case !strings.HasPrefix(e.Program, managerName) && !strings.HasPrefix(e.Program, schedulerName):
		case e.Killed:
			broken = append(broken, fmt.Sprintf("%s was told to stop at %v, and had not ended %v later", e.Program, e.Told.Round(time.Millisecond), simtest.GracePeriod))
		case e.Told == 0 && p.calm > 0 && e.At > p.calm:
			broken = append(broken, fmt.Sprintf("%s %s at %v, although nothing was wrong and nobody had told it to stop", e.Program, e.How, at))
		}
	}
	return broken
}
