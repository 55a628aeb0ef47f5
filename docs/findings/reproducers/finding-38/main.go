// Finding 38: the template of a StatefulSet changes while no pod has the current revision, and the new revision cannot be created. The controller deletes the
// current revision, and a pod below the partition is recreated from the new template.
package main

import (
	"fmt"
	"time"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/statefulsets"
)

const (
	// canaries is one more than the default history limit.
	canaries = 11
	// outage is how long nothing can be created; the controller retries several times.
	outage = 2 * time.Second
)

func main() {
	control := round("no pod can be created", "pods")
	rig.VerdictOfOne(round("no pod and no revision can be created", "pods", "controllerrevisions") != "stable" && control == "stable",
		"a pod below the partition is recreated from a template that was never rolled out to it")
}

// round evicts the only pod below the partition, and changes the template while the given resources cannot be created. It returns the image with which that
// pod is recreated.
func round(outages string, refused ...string) string {
	c, stop := statefulsets.Start()
	defer stop()
	c.Create(1, "stable")
	c.Until("stable", "stable", "stable")
	for i := range canaries {
		canary := fmt.Sprint("canary-", i)
		c.Change(canary)
		c.Until("stable", canary, canary)
	}
	c.Refuse(refused...)
	c.Evict(0)
	c.Change("next")
	time.Sleep(outage)
	fmt.Printf("%s: pods have images %v, the current revision has image %v\n", outages, c.Images(), c.Current())
	c.Refuse()
	c.Until("", "next", "next")
	status := c.Set().Status
	fmt.Printf("afterwards: pods have images %v, the current revision has image %v, the rollout is complete: %t\n", c.Images(), c.Current(), status.CurrentRevision == status.UpdateRevision)
	return c.Images()[0]
}
