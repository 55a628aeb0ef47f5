// Command worker works off runs over etcd 3.5.12 for simrun, which builds and starts it.
package main

import (
	"fmt"
	"os"
	"os/signal"

	etcd35 "github.com/watchsim/watchsim/sim/released/etcd-3.5"
	kubernetes "github.com/watchsim/watchsim/sim/released/kubernetes-0.26"
	"github.com/watchsim/watchsim/sim/swarm"
	"github.com/watchsim/watchsim/sim/target"
)

// name is what --target calls the release.
const name = "etcd-3.5"

func main() {
	if len(os.Args) != 3 || os.Args[1] != swarm.WorkerArgument {
		fail(fmt.Errorf("expected to be started by simrun --target %s, found the arguments %q", name, os.Args[1:]))
	}
	// An interrupt is for the coordinator, which ends the workers.
	signal.Ignore(os.Interrupt)
	if err := swarm.Work(os.Args[2], os.Stdin, os.Stdout, find); err != nil {
		fail(err)
	}
}

func find(wanted string) (target.Target, error) {
	if wanted != name {
		return nil, fmt.Errorf("expected the target %s, found %q", name, wanted)
	}
	return kubernetes.New(name, etcd35.Release{}), nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}
