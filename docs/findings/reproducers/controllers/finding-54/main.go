// Finding 54: LeaderWorkerSet stores a new template under the revision key of an old one that it has not observed, or that belongs to a deleted set. It takes
// groups of the old template for updated, and gives their leaders workers of the new one.
package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	lws "github.com/watchsim/watchsim/docs/findings/reproducers/controllers/leaderworkersets"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	rounds = 10
	before = "image:1"
	after  = "image:2"
	// lag is the time after which the controllers observe a ControllerRevision.
	lag = time.Second
)

var ctx = context.Background()

func main() {
	c := lws.Start(nil)
	control := count("changed, all observed", rounds, func(name string) bool { return changed(c, "seen-"+name, 0) })
	control += count("recreated, the old StatefulSet gone", 1, func(name string) bool { return recreated(c, "gone-"+name, true) })
	seen := count("changed, revisions observed late", rounds, func(name string) bool { return changed(c, "late-"+name, lag) })
	seen += count("recreated, the old StatefulSet still there", 1, func(name string) bool { return recreated(c, "there-"+name, false) })
	if control > 0 {
		rig.Must(fmt.Errorf("a control run has a mixed group"))
	}
	rig.Verdict(seen, rounds+1, "a group below the partition has a leader of "+before+" and workers of "+after)
}

// count runs rounds and returns how many of them have a mixed group.
func count(what string, rounds int, mixed func(name string) bool) (seen int) {
	seen = rig.Count(rounds, func(i int) bool { return mixed(fmt.Sprint(i)) })
	fmt.Printf("%s: a mixed group in %d of %d rounds\n", what, seen, rounds)
	return seen
}

// changed changes the image of a set that has just been created, and reports whether a group below the partition is mixed afterwards.
func changed(c *lws.Cluster, name string, lag time.Duration) bool {
	c.Lag(lag)
	c.Create(name, before, 2, 2, 1)
	old := c.StatefulSet(name, lws.Has(before))
	c.Change(name, lws.Image(after))
	c.StatefulSet(name, lws.Has(after))
	time.Sleep(2 * lag) // all are observed now
	// The group is below the partition: the StatefulSet controller creates its leader with the old template.
	return mixed(c, name, c.NewLeader(old, "0"))
}

// recreated deletes a set and creates it again with another image. The garbage collector deletes what it owned before that, or is late.
func recreated(c *lws.Cluster, name string, collected bool) bool {
	c.Lag(0)
	c.Create(name, before, 2, 2, 1)
	old := c.StatefulSet(name, lws.Has(before))
	rig.Must(c.Delete(ctx, c.Set(name)))
	if collected {
		rig.Must(c.Delete(ctx, old))
		c.DeleteRevisions(name)
	}
	c.Create(name, after, 2, 2, 1)
	of := c.StatefulSet(name, lws.Has(after))
	if of.UID == old.UID {
		of = old // the new set has adopted it, and its current revision stays that of the old template
	}
	return mixed(c, name, c.NewLeader(of, "0"))
}

// mixed reports whether the workers of a group have another image than their leader.
func mixed(c *lws.Cluster, set string, leader *corev1.Pod) bool {
	workers := c.StatefulSet(leader.Name, func(*appsv1.StatefulSet) bool { return true })
	key := func(labels map[string]string) string { return labels[lwsv1.RevisionKey] }
	image, theirs := leader.Spec.Containers[0].Image, workers.Spec.Template.Spec.Containers[0].Image
	if image == theirs {
		return false
	}
	now := c.StatefulSet(set, lws.Has(after))
	fmt.Printf("%s: a leader of %s, key %s; workers of %s, key %s; the template is %s, key %s\n",
		set, image, key(leader.Labels), theirs, key(workers.Labels), after, key(now.Labels))
	return true
}
