// Finding 39: the template of a StatefulSet changes before its controller's informer has observed the current revision. The controller forgets that revision,
// and a pod below the partition is recreated from the new template.
package main

import (
	"fmt"
	"time"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/statefulsets"
)

// recovery is how long the controller has once the informer has caught up; it syncs within milliseconds.
const recovery = 2 * time.Second

func main() {
	control := round("on time")
	rig.VerdictOfOne(round("late", "controllerrevisions") != "first" && control == "first", "a pod below the partition is recreated from a template that was never rolled out")
}

// round creates a StatefulSet whose partition protects all pods, and changes its template, while the watches of the given resources deliver nothing. It returns
// the image with which a pod is recreated that is evicted later.
func round(informer string, held ...string) string {
	c, stop := statefulsets.Start()
	defer stop()
	c.Hold(held...)
	c.Create(statefulsets.Replicas, "first")
	c.Until("first", "first", "first")
	c.Change("second")
	c.Until("first", "first", "first")
	fmt.Printf("informer of revisions %s: pods have images %v, the current revision has image %s\n", informer, c.Images(), c.Current())
	c.Hold()
	time.Sleep(recovery)
	c.Evict(0)
	c.Until("", "first", "first")
	fmt.Printf("later pod 0 is evicted: pods have images %v, the current revision has image %s\n", c.Images(), c.Current())
	return c.Images()[0]
}
