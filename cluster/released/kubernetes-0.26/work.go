package kubernetes

import (
	"fmt"
	"os"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/search/swarm"
)

// Work is the whole of a worker that simrun builds and starts for a target: name is what
// --target calls it, and release what it stands on. It ends the process if it cannot work.
func Work(name string, release etcd.Release) {
	if len(os.Args) != 2 || os.Args[1] != swarm.WorkerArgument {
		fail(fmt.Errorf("expected to be started by simrun --target %s, found the arguments %q", name, os.Args[1:]))
	}
	find := func(wanted string) (target.Target, error) {
		if wanted != name {
			return nil, fmt.Errorf("expected the target %s, found %q", name, wanted)
		}
		return New(name, release), nil
	}
	if err := swarm.Work(os.Stdin, os.Stdout, find); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}
