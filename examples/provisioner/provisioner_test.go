package provisioner

import (
	"context"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/simtest"
)

// impatient is an environment variable that makes the user delete claims that are not bound yet. The test then runs into finding
// 28. A restarted provisioner also never deletes what it was provisioning for a deleted claim: nothing guarantees that it does.
const impatient = "IMPATIENT"

// within is how long the user acts and faults happen.
const within = time.Minute

// Claims get volumes, and the storage has no orphaned ones.
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
