// Finding 52: the TTL of a JobSet deletes another JobSet, which was created under its name, has not finished and has no TTL.
package main

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	api "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/jobsets"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	rounds = 5
	ttl    = 6 * time.Second
	// early is how long before the end of the TTL the JobSet is deleted and created again.
	early = time.Second
	// late is the delay of the controller's watch of JobSets.
	late = 2 * time.Second
)

var ctx = context.Background()

func main() {
	config, c := jobsets.Start()
	fmt.Printf("control, with a watch that is not late: another JobSet is deleted in %d of %d rounds\n", run(config, c, "control", 0), rounds)
	rig.Verdict(run(config, c, "late", late), rounds, "a JobSet without a TTL, which has not finished, is deleted")
}

// run runs the controller with a watch that is late, and counts the rounds in which it deletes the second JobSet.
func run(config *rest.Config, c client.Client, name string, late time.Duration) int {
	defer jobsets.Run(config, "jobsets", late)()
	return rig.Count(rounds, func(i int) bool { return round(c, fmt.Sprintf("%s-%d", name, i)) })
}

// round lets a JobSet with a TTL finish, deletes it shortly before it expires, and creates another one of that name, without a TTL. It
// reports whether this one is deleted.
func round(c client.Client, name string) bool {
	first := jobsets.New(name, "r")
	first.Spec.TTLSecondsAfterFinished = new(int32(ttl / time.Second))
	rig.Must(c.Create(ctx, first))
	jobsets.Finish(c, name+"-r-0", batchv1.JobComplete)
	rig.Until(func() bool {
		rig.Must(c.Get(ctx, client.ObjectKeyFromObject(first), first))
		return meta.IsStatusConditionTrue(first.Status.Conditions, string(api.JobSetCompleted))
	})
	finished := meta.FindStatusCondition(first.Status.Conditions, string(api.JobSetCompleted)).LastTransitionTime
	time.Sleep(time.Until(finished.Add(ttl - early)))

	rig.Must(c.Delete(ctx, first, client.Preconditions{UID: &first.UID}))
	rig.Must(c.Delete(ctx, jobsets.Get(c, name+"-r-0"))) // as the garbage collector does
	second := jobsets.New(name, "r")
	rig.Must(c.Create(ctx, second))
	time.Sleep(early + late + time.Second)
	now := &api.JobSet{}
	err := c.Get(ctx, client.ObjectKeyFromObject(second), now)
	return !rig.Found(err) || now.UID != second.UID || now.DeletionTimestamp != nil
}
