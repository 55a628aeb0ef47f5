// Finding 22: two controllers overwrite each other's annotations of a content. A snapshot whose creation has timed out leaks
// in the storage system.
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
	rig.Verdict(len(snapshots.Orphans(client, storage)), rounds, "the storage has a snapshot that no object in the cluster refers to")
}
