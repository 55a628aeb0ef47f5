// Finding 22: two controllers replace all annotations of a content, so that one takes away those of the other. A snapshot of
// which the sidecar does not know yet whether it was taken stays in the storage.
package main

import (
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/snapshots"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const rounds = 100

func main() {
	storage := &snapshots.Storage{Takes: 200 * time.Millisecond, Late: status.Error(codes.DeadlineExceeded, "the storage is slow")}
	client := snapshots.Start(snapshots.Late(200*time.Millisecond), snapshots.Late(300*time.Millisecond), storage)
	for i := range rounds {
		name := fmt.Sprintf("snapshot-%d", i)
		snapshot := snapshots.Create(client, name)
		rig.Until(func() bool { return snapshots.IsBeingTaken(client, snapshot) })
		snapshots.Delete(client, name)
	}
	rig.Verdict(len(snapshots.Orphans(client, storage)), rounds, "the storage has a snapshot that no object in the cluster belongs to")
}
