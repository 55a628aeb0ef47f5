// Command finding-13 shows that kine returns a wrong revision when a deleted key is created
// again. Its exit code is 1 if the bug shows, 0 if not, and 2 if it cannot run.
package main

import (
	"context"
	"fmt"

	"github.com/k3s-io/kine/pkg/server"

	"github.com/watchsim/watchsim/docs/findings/reproducers/kine/rig"
)

const (
	rounds  = 300
	writers = 4 // to other keys, concurrently
)

func main() {
	rig.Verdict(run(), rounds, "the answer to a create names a revision that is not the object's")
}

// run counts the rounds in which a create returned another revision than the object's.
func run() (wrong int) {
	backend, stop := rig.Start()
	defer stop()
	defer rig.Writers(backend, "/other-", writers)()
	ctx := context.Background()
	// A watch makes kine poll its database, as each API server's watch does.
	watch := backend.Watch(ctx, 0)
	go func() {
		for range watch.Eventc {
		}
	}()
	for range rounds {
		for range 2 {
			answered, stored := create(ctx, backend, "/key")
			if answered == stored {
				continue
			}
			if wrong++; wrong <= 3 {
				fmt.Printf("the answer says revision %d, and the object has revision %d\n", answered, stored)
			}
			break
		}
	}
	return wrong
}

// create creates a key and deletes it again. It returns the revision in the response to the create, and the object's.
func create(ctx context.Context, backend server.Backend, key string) (answered, stored int64) {
	answered, err := backend.Create(ctx, key, []byte("value"), 0)
	if err != nil {
		rig.Must(fmt.Errorf("create: %w", err))
	}
	_, object, err := backend.Get(ctx, key, 0, false)
	if err != nil || object == nil {
		rig.Must(fmt.Errorf("get after a create: found %v, %w", object, err))
	}
	if _, _, deleted, err := backend.Delete(ctx, key, object.ModRevision); err != nil || !deleted {
		rig.Must(fmt.Errorf("delete: deleted %v, %w", deleted, err))
	}
	return answered, object.ModRevision
}
