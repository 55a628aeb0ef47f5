package snapshots

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/simtest"
)

// The environment variables that make the test run into bugs of the controllers, which it otherwise avoids.
const (
	impatient   = "IMPATIENT"   // the user deletes snapshots that are not ready yet: findings 20 and 22
	longResync  = "LONG_RESYNC" // the controllers look at everything again after a quarter of an hour, as they do by default: finding 27, and 21 for an impatient user
	takenTwice  = "TAKEN_TWICE" // the snapshot-controller is told that a content which it creates exists already: finding 23, in one of a hundred seeds
	plainLists  = "PLAIN_LISTS" // in half of the seeds, programs that start again list what an API server has, however old: the csi-snapshotter takes snapshots for contents that are gone
	shortResync = 20 * time.Second
)

// within is how long the user acts and faults happen.
const within = time.Minute

// Snapshots become ready, and the storage has no orphaned ones.
func TestSnapshots(t *testing.T) {
	resync := shortResync
	if os.Getenv(longResync) != "" {
		resync = Resync
	}
	if os.Getenv(plainLists) == "" {
		t.Setenv("KUBE_FEATURE_WatchListClient", "true")
	}
	simtest.Seeds(t, simtest.Config{Servers: 2, CRDs: []string{Definitions()}}, func(t *simtest.T, c *simtest.Cluster) {
		u := newUser(t, t.Context(), c.Config(), os.Getenv(impatient) != "")
		s := &storage{snapshots: map[string]string{}}
		c.Go("snapshot-controller", func(ctx context.Context, config *rest.Config) error {
			if os.Getenv(takenTwice) == "" {
				config.Wrap(func(next http.RoundTripper) http.RoundTripper { return fails{next} })
			}
			return RunController(ctx, config, resync)
		})
		c.Go("csi-snapshotter", func(ctx context.Context, config *rest.Config) error {
			return RunSidecar(ctx, config, resync, driver, s)
		})
		c.Faults(within)
		for c.Now() < within {
			u.act()
			t.Sometimes("snapshots that are ready", len(s.handles()) > 0 && u.settled(s) == nil)
		}
		c.Eventually(func() error { return u.settled(s) })
	})
}

// fails reports an error for a successful creation of a content, so that it is retried when the controller has observed it.
type fails struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (f fails) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := f.next.RoundTrip(request)
	if err == nil && request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/volumesnapshotcontents") && response.StatusCode == http.StatusConflict {
		response.Body.Close()
		return nil, errors.New("the content exists already")
	}
	return response, err
}
