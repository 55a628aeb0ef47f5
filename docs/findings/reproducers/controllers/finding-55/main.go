// Finding 55: LeaderWorkerSet counts pods that it has not observed in their last state, and does not look again when it observes them, as its controller does not
// watch pods. A rolling update stops, and the status is wrong, until something else happens.
package main

import (
	"fmt"
	"time"

	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/leaderworkersets"
	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/server"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	rounds, replicas = 3, 3
	// late is the delay of the controllers' watch of pods, patience how long each step may take.
	late, patience = 500 * time.Millisecond, 10 * time.Second
)

func main() {
	c := leaderworkersets.Start(server.Late("pods", late))
	control := run(c, "after", 3*late)
	fmt.Printf("the status of the StatefulSets follows their pods by %v: wrong in %d of %d rounds\n", 3*late, control, rounds)
	seen := run(c, "at-once", 0)
	if control > 0 {
		rig.Must(fmt.Errorf("a control run failed"))
	}
	rig.Verdict(seen, rounds, "a rolling update stops, or the status stays wrong,")
}

// run returns how many sets are wrong. The status of their StatefulSets follows their pods after a while.
func run(c *leaderworkersets.Cluster, prefix string, after time.Duration) int {
	return rig.Count(rounds, func(i int) bool { return stops(c, fmt.Sprintf("%s-%d", prefix, i), after) })
}

// stops updates a set and scales it to nothing, and reports whether one of them does not end.
func stops(c *leaderworkersets.Cluster, name string, after time.Duration) bool {
	c.Create(name, "image:1", replicas, 1, 0)
	go c.Run(name, after)
	created := ends(c, name, "create", func(s lwsv1.LeaderWorkerSetStatus) bool {
		return s.ReadyReplicas == replicas && s.UpdatedReplicas == replicas
	})
	c.Change(name, leaderworkersets.Image("image:2"))
	key := c.StatefulSet(name, leaderworkersets.Has("image:2")).Labels[lwsv1.RevisionKey]
	updated := ends(c, name, "update", func(s lwsv1.LeaderWorkerSetStatus) bool {
		return s.UpdatedReplicas == replicas && c.Leaders(name, key) == replicas
	})
	c.Change(name, func(spec *lwsv1.LeaderWorkerSetSpec) { spec.Replicas = new(int32(0)) })
	scaled := ends(c, name, "scale to 0", func(s lwsv1.LeaderWorkerSetStatus) bool { return s.Replicas == 0 && s.ReadyReplicas == 0 })
	return !created || !updated || !scaled
}

// ends waits until a step has ended, and reports whether it has.
func ends(c *leaderworkersets.Cluster, name, step string, ended func(lwsv1.LeaderWorkerSetStatus) bool) bool {
	if _, has := rig.Wait(10*time.Millisecond, patience, func() bool { return ended(c.Set(name).Status) }); has {
		return true
	}
	status := c.Set(name).Status
	fmt.Printf("%s: %s does not end within %v: replicas %d, readyReplicas %d, updatedReplicas %d; %d pods\n",
		name, step, patience, status.Replicas, status.ReadyReplicas, status.UpdatedReplicas, c.Leaders(name, ""))
	return false
}
