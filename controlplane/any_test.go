package controlplane_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/simtest"
)

// booted adds to a configuration the control plane that every seed starts with, its rules, the namespaces of users and
// webhooks.
func booted(config simtest.Config, plane *controlplane.Plane, nodes int) simtest.Config {
	config.KMS = true
	config.Boot = func(t *simtest.T, c *simtest.Cluster) {
		require.NoError(t, controlplane.CheckAudits())
		require.NoError(t, plane.Prepare(t, c))
	}
	config.Check = func(seen simtest.Seen) error {
		if !controlplane.Audits {
			return nil
		}
		wrong, err := controlplane.Audited(seen, controlplane.AuditLogs)
		if err == nil && len(wrong) > 0 {
			err = errors.New(strings.Join(wrong, "\n"))
		}
		return err
	}
	return plane.Config(config, nodes)
}

// anything runs users, administrators, controllers, schedulers, nodes and faults for a minute, and checks
// that everything converges, also after later changes. Users use the given groups of actions, or any. -short skips scenarios with given groups, as any has them too.
func anything(t *testing.T, config simtest.Config, groups ...controlplane.Group) {
	if len(groups) > 0 && testing.Short() {
		t.Skip("-short")
	}
	plane := &controlplane.Plane{}
	simtest.Seeds(t, booted(config, plane, 1), func(t *simtest.T, c *simtest.Cluster) {
		require.NoError(t, plane.Configure(c, controlplane.DrawSettings(t)))
		const within = time.Minute
		// Containers take up to some seconds, as users do, or are a thousand times as fast, and get much more done.
		plane.Workload = controlplane.Workload{Start: 10 * time.Second >> rand.IntN(10), End: 10 * time.Second >> rand.IntN(10), Work: 20 * time.Second >> rand.IntN(10), FailOneIn: rand.IntN(4),
			UnreadyOneIn: rand.IntN(4), EvictOneIn: []int{0, 0, 4, 16}[rand.IntN(4)], CrashOneIn: []int{0, 0, 4, 16}[rand.IntN(4)],
			Storage: time.Minute >> rand.IntN(10), Extender: 2 * time.Second >> rand.IntN(10), Healthy: time.Now().Add(within)}
		plane.Grow(c, rand.IntN(3), rand.IntN(2), rand.IntN(3))
		c.EncryptAtRest(within)
		for i := range max(1, config.Servers) {
			c.Go(fmt.Sprintf("operator-%d", i), controlplane.Operator)
		}
		usage, until := controlplane.DrawUsage(t, groups...), time.Now().Add(within)
		c.Go("user", plane.User(usage, until))
		c.Go("dependents", controlplane.Dependents(usage, until))
		c.Go("gatekeeper", plane.Gatekeeper)
		c.Go("observer", plane.Observer.Run(until))
		restored := plane.Administer(c, usage, until)
		c.Faults(within)
		time.Sleep(within)
		plane.Tell(t, usage)
		t.Sometimes("an outage of the KMS keeps a server from decrypting", c.KeyMissed())
		untyped := dynamic.NewForConfigOrDie(c.Config())
		// converged waits until everything is as it should, with an extended deadline, and then until it stays so.
		converged := func(should func(context.Context, kubernetes.Interface, dynamic.Interface) error, more time.Duration, stays func() error) (late error) {
			var whole time.Duration // since when all nodes exist and accept pods
			c.Eventually(func() error {
				select {
				case <-restored:
					if late = plane.Overdue(); late != nil {
						return nil
					}
					whole = cmp.Or(whole, c.Now())
				default:
					return errors.New("administrators have not brought all nodes back")
				}
				if err := should(t.Context(), c.Client(), untyped); err != nil {
					if late = controlplane.Late(err, c.Now()-whole, more); late != nil {
						plane.SetOverdue(late)
						return nil
					}
					if !controlplane.Due(err) {
						whole = 0
					}
					return err
				}
				return stays()
			})
			return late
		}
		settled := func(more time.Duration, stays func() error) error {
			return converged(controlplane.Settled, more, stays)
		}
		atOnce := func() error { return nil }
		if settled(0, atOnce) != nil {
			return
		}
		plane.Calm(c.Now())
		// A controller that has silently stopped shows only when it has work to do, and so does one that waits for what a finalizer keeps.
		const again = 10 * time.Second
		c.Disturb()
		c.Go("user-again", plane.User(usage.Again(), time.Now().Add(again)))
		time.Sleep(again)
		if converged(controlplane.SettledElsewhere, 0, atOnce) != nil {
			return
		}
		c.Go("user-releases", controlplane.Release)
		if settled(0, atOnce) != nil {
			return
		}
		// upgrades is the time for up to four pods of each set, one after the other, to start, become ready and end, on nodes that may be full.
		const upgrades = 3 * time.Minute
		// A rollout of healthy workloads without faults must keep enough pods available.
		require.NoError(t, controlplane.Upgrade(t.Context(), c.Config(), "image:again"))
		if settled(upgrades, atOnce) != nil {
			return
		}
		// The scheduler finds all free room and no more, also after a restart in which goroutines are stalled: what it handles first may lag.
		require.NoError(t, controlplane.Fill(t.Context(), c.Client()))
		if settled(0, atOnce) != nil {
			return
		}
		require.NoError(t, controlplane.Overfill(t.Context(), c.Client()))
		c.Disturb()
		require.NoError(t, plane.Restart(c))
		time.Sleep(30 * time.Second) // a leader that was killed holds its lease for 15 s
		settled(0, func() error {
			began := time.Now()
			if err := controlplane.Quiet(t.Context(), c.Client(), untyped, time.Minute); err != nil {
				return err
			}
			return plane.Observer.Agrees(t.Context(), c.Client(), began)
		})
	})
}

// TestAny: anything happens to a control plane with two API servers: a restarted program may read an older state than it has observed.
func TestAny(t *testing.T) { anything(t, simtest.Config{Servers: 2}) }

// TestHA: anything happens to a control plane with three API servers and three etcd members.
func TestHA(t *testing.T) { anything(t, simtest.Config{Members: 3, Servers: 3}) }
