// Finding 27: a snapshot whose creation has failed is not retried if the sidecar's watch lags by more than the retry interval.
package main

import (
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/snapshots"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const rounds = 20

func main() {
	storage := &snapshots.Storage{Late: status.Error(codes.DeadlineExceeded, "the storage is slow")}
	client := snapshots.Start(nil, snapshots.Late(3*time.Second), storage) // the first retry comes after a second
	for i := range rounds {
		snapshots.Create(client, fmt.Sprintf("snapshot-%d", i))
	}
	time.Sleep(time.Minute)
	waiting := rig.Count(rounds, func(i int) bool { return !snapshots.Ready(client, fmt.Sprintf("snapshot-%d", i)) })
	rig.Verdict(waiting, rounds, "a snapshot is not ready 60s after its creation, which is not retried,")
}
