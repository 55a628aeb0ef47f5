package swarm

import (
	"fmt"
	"os"

	"github.com/watchsim/watchsim/cluster/target"
)

// WorkReleased is the main function of a worker that simrun builds and starts for a released version:
// name is its --target. It exits if it cannot work.
func WorkReleased(name string, made func(name string) target.Target) {
	if len(os.Args) != 2 || os.Args[1] != WorkerArgument {
		fail(fmt.Errorf("expected to be started by simrun --target %s, found the arguments %q", name, os.Args[1:]))
	}
	find := func(wanted string) (target.Target, error) {
		if wanted != name {
			return nil, fmt.Errorf("expected the target %s, found %q", name, wanted)
		}
		return made(name), nil
	}
	if err := Work(os.Stdin, os.Stdout, find); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}
