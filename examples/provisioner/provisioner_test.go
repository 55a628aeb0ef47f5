package provisioner

import (
	"context"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/simtest"
)

// impatient is an environment variable with which the user deletes claims that are not bound yet. The test then runs into finding 28. A provisioner
// that is started again also forgets what it was provisioning for a claim that is gone, and never deletes that: nobody promises otherwise.
const impatient = "IMPATIENT"

// within is how long the user goes on, and how long things go wrong.
const within = time.Minute

// Claims get volumes, and the storage keeps none that nobody knows of.
func TestVolumes(t *testing.T) {
	simtest.Seeds(t, simtest.Config{MaxPartition: 20 * time.Second}, func(t *simtest.T, c *simtest.Cluster) {
		u := newUser(t, t.Context(), c.Config(), os.Getenv(impatient) != "")
		s := &storage{volumes: map[string]bool{}}
		c.Go("binder", bind)
		c.Go("provisioner", func(ctx context.Context, config *rest.Config) error { return Run(ctx, config, s) })
		c.Faults(within)
		for c.Now() < within {
			u.act()
			t.Sometimes("volumes that are used", len(s.names()) > 0 && u.settled(s) == nil)
		}
		c.Eventually(func() error { return u.settled(s) })
	})
}
