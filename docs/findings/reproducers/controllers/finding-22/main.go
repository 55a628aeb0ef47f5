// Finding 22: two controllers replace all annotations of a content, so that one takes away those of the other. A snapshot of
// which the sidecar does not know yet whether it was taken stays in the storage.
package main

import (
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
	snapshots.DeleteEarly(client, rounds, snapshots.IsBeingTaken)
	rig.Verdict(len(snapshots.Orphans(client, storage)), rounds, "the storage has a snapshot that no object in the cluster belongs to")
}
