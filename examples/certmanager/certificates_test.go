package certmanager

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/cert-manager/cert-manager/pkg/apis/certmanager"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/simtest"
)

// The environment variables that make the test run into bugs of cert-manager, which it otherwise avoids.
const (
	noGroup    = "NO_GROUP"   // issuers are named without their group: finding 16
	longWaits  = "LONG_WAITS" // cert-manager waits for an hour after a failure, as it does by default: finding 17
	shortWaits = 5 * time.Second
)

// within is how long the user acts and faults happen.
const within = time.Minute

// Certificates are issued, whatever the user wants and despite faults.
func TestCertificates(t *testing.T) {
	issuer := cmmeta.IssuerReference{Name: "issuer", Group: certmanager.GroupName}
	if os.Getenv(noGroup) != "" {
		issuer.Group = ""
	}
	backoff := shortWaits
	if os.Getenv(longWaits) != "" {
		backoff = Backoff
	}
	simtest.Seeds(t, simtest.Config{Servers: 2, CRDs: []string{Definitions()}}, func(t *simtest.T, c *simtest.Cluster) {
		u := newUser(t, t.Context(), c.Config(), issuer)
		c.Go("cert-manager", func(ctx context.Context, config *rest.Config) error {
			address, err := simtest.Proxy(ctx, config)
			if err != nil {
				return err
			}
			return Run(ctx, address, backoff)
		})
		c.Faults(within)
		for c.Now() < within {
			u.act()
			t.Sometimes("a certificate that is issued", u.issued() == nil)
		}
		c.Eventually(u.issued)
	})
}
