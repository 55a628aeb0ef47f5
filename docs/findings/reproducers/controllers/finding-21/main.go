// Finding 21: a snapshot that is deleted while it is being taken stays until the sidecar's next resync, every 15 minutes.
package main

import (
	"time"

	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/snapshots"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const rounds = 100

func main() {
	storage := &snapshots.Storage{Takes: 2 * time.Second}
	client := snapshots.Start(nil, snapshots.Late(200*time.Millisecond), storage)
	snapshots.DeleteEarly(client, rounds, snapshots.IsBeingTaken)
	time.Sleep(30 * time.Second)
	rig.Verdict(len(storage.Names()), rounds, "a snapshot is still there 30s after it was deleted, although nothing is wrong,")
}
