package leaderworkerset

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/dynamic"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/simtest"
)

// The environment variables that make the test run into bugs of the controllers, which it otherwise tolerates.
const (
	mixed    = "MIXED_GROUPS"   // workers of another size or address than their leader
	twice    = "REVISION_TWICE" // workers of another revision than their leader, as another template has its key
	handsOff = "HANDS_OFF"      // a status or a service that is wrong until an event makes the controllers look again
)

// patience is how long the user waits before she touches an object that the controllers have forgotten.
const patience = 2 * time.Minute

// managers are the replicas of the manager.
var managers = []string{"lws-0", "lws-1"}

// Sets get the groups that their user wants, whatever befalls their pods and the control plane.
func TestLeaderWorkerSets(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	plane, j := &controlplane.Plane{}, &judge{}
	config := plane.Config(simtest.Config{
		Servers: 2,
		CRDs:    []string{filepath.Join(Release(), "crd", "bases", "leaderworkerset.x-k8s.io_leaderworkersets.yaml")},
		Boot: func(t *simtest.T, c *simtest.Cluster) {
			certificate, err := Install(t.Context(), c, managers...)
			require.NoError(t, err)
			for _, name := range managers {
				c.Go(name, Manager(certificate))
			}
		},
		Check: j.check,
	}, 2)
	simtest.Seeds(t, config, func(t *simtest.T, c *simtest.Cluster) {
		within := 15*time.Second + rand.N(45*time.Second) // how long the user acts and faults happen
		more := rand.IntN(3)
		plane.Grow(c, rand.IntN(2), 0, more)
		plane.Workload = controlplane.Workload{
			Start: rand.N(10 * time.Second), End: rand.N(5 * time.Second), CrashOneIn: rand.IntN(5) * 3,
			UnreadyOneIn: rand.IntN(4) * 3, EvictOneIn: oneOf(0, 0, 8, 16), Healthy: time.Now().Add(within),
		}
		until := time.Now().Add(within)
		usage := controlplane.Usage{Groups: oneOf(nil, nil, []controlplane.Group{controlplane.Nodes}, []controlplane.Group{controlplane.Leaders})}
		restored := plane.Administer(c, usage, until)
		u := newUser(t, c)
		c.Faults(within)
		for time.Now().Before(until) {
			u.act()
		}
		for _, what := range slices.Sorted(maps.Keys(u.did)) {
			t.Sometimes("the user "+what, u.did[what])
		}
		plane.Tell(t, usage)
		c.Heal()
		<-restored
		c.Eventually(func() error { return u.fit(2 + more) })
		untyped := dynamic.NewForConfigOrDie(c.Config())
		settled := func() bool {
			whole := c.Now()
			var late error
			c.Eventually(func() error {
				if err := controlplane.Settled(t.Context(), c.Client(), untyped); err != nil {
					if late = controlplane.Late(err, c.Now()-whole, 3*time.Minute); late != nil {
						plane.SetOverdue(late)
						return nil
					}
					return err
				}
				o, err := read(t.Context(), u.client)
				if err == nil {
					err = o.settled()
				}
				if one, is := errors.AsType[forgotten](err); is && c.Now()-whole > patience && os.Getenv(handsOff) == "" {
					t.Logf("%v: the user touches %s, as %v", c.Now(), one.object.GetName(), err)
					t.Sometimes("an object is touched that the controllers have forgotten", true)
					u.touch(one.object)
				}
				return err
			})
			return late == nil
		}
		if !settled() {
			return
		}
		o, err := read(t.Context(), u.client)
		require.NoError(t, err)
		t.Sometimes("a set has several groups in the end", len(o.pods.Items) > 3)
		// A rollout without faults keeps enough groups available.
		j.calm = o.sets.ResourceVersion
		for i := range o.sets.Items {
			set := &o.sets.Items[i]
			set.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = "image:last"
			if leader := set.Spec.LeaderWorkerTemplate.LeaderTemplate; leader != nil {
				leader.Spec.Containers[0].Image = "image:last"
			}
			require.NoError(t, u.client.Update(t.Context(), set))
		}
		if !settled() {
			return
		}
		c.Eventually(func() error { return controlplane.Quiet(t.Context(), c.Client(), untyped, time.Minute) })
	})
}
