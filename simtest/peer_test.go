package simtest

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim/fork"
)

// What the machine does is not a verdict on a seed.
func TestVerdict(t *testing.T) {
	well, failed := report{Hash: 7}, report{Failed: true, Cause: fork.Panicked, Stop: "it panicked"}
	killed, late := report{Failed: true, Cause: fork.Killed, Stop: "it was killed"}, report{Failed: true, Cause: fork.TookTooLong, Stop: "it took too long"}
	for name, row := range map[string]struct {
		tries []report
		want  report
		says  string
	}{
		"it passes":                {[]report{well}, well, ""},
		"it fails":                 {[]report{failed}, failed, ""},
		"it is killed":             {[]report{killed, well}, well, ""},
		"it is killed twice":       {[]report{killed, killed}, report{}, "seed 3 has no verdict, twice: it was killed"},
		"it is late":               {[]report{late}, report{}, "seed 3 has no verdict: it took too long"},
		"it is killed, then late":  {[]report{killed, late}, report{}, "seed 3 has no verdict, twice: it took too long"},
		"it is killed, then fails": {[]report{killed, failed}, failed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tries := row.tries
			got, err := verdict(3, func() (report, error) {
				next := tries[0]
				tries = tries[1:]
				return next, nil
			})
			require.Empty(t, tries)
			if row.says != "" {
				require.EqualError(t, err, row.says)
				return
			}
			require.NoError(t, err)
			require.Equal(t, row.want, got)
		})
	}
}

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
