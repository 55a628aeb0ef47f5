package swarm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/sim/fork"
)

// TestADeathIsAViolationWithFields follows what a worker says of a copy to the verdict.
func TestADeathIsAViolationWithFields(t *testing.T) {
	_, err := Reply{Cause: fork.Panicked, Died: "it panicked, with exit status 2: panic: no state\n\ngoroutine 7 [running]:\n" +
		"panic({0x1, 0x2})\n\t/usr/local/go/panic.go:1\nexample.com/cache.(*Cache).list(0xc0007)\n\t/src/cache.go:9"}.Read(11)
	require.ErrorIs(t, err, ErrDied)
	v := Unfinished(err)
	require.Equal(t, []string{scenario.Completed, "panicked", "example.com/cache.(*Cache).list"}, []string{v.Guarantee, v.Code, v.Subject})
	require.Equal(t, "the run ended its process: seed 11: it panicked, with exit status 2: panic: no state", v.Sentence)

	_, err = Reply{Cause: fork.TookTooLong, Died: "it took longer than 2m0s on the clock"}.Read(3)
	require.Equal(t, "took-too-long", Unfinished(err).Code)
	require.Empty(t, Unfinished(err).Subject)
}
