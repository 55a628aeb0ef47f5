// Finding 20: a snapshot leaks in the storage system if its VolumeSnapshot is deleted just after its creation.
package main

import (
	"time"

	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/snapshots"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const rounds = 100

func main() {
	storage := &snapshots.Storage{Takes: 200 * time.Millisecond}
	client := snapshots.Start(snapshots.Late(200*time.Millisecond), nil, storage)
	snapshots.DeleteEarly(client, rounds, snapshots.HasContent)
	rig.Verdict(len(snapshots.Orphans(client, storage)), rounds, "the storage has a snapshot that no object in the cluster refers to")
}
