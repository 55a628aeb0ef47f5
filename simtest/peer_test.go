package simtest

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAKilledWorkerIsToldOfAsThat(t *testing.T) {
	for script, says := range map[string]string{
		"kill -9 $$": "something has killed it, as the kernel does when memory runs out; fewer -simtest.workers, or a smaller -simtest.verify, need less",
		"exit 3":     "exit status 3",
	} {
		command := exec.Command("sh", "-c", script)
		require.Error(t, command.Run())
		require.Equal(t, says, howEnded(command.ProcessState))
	}
}
