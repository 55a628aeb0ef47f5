package swarm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestComplaintIsAboutThePanic(t *testing.T) {
	logged := strings.Repeat("W1120 a library warns\n", 2*maxComplaint/20)
	stack := strings.Repeat("\tfile.go:1\n", maxComplaint)
	for name, row := range map[string]struct {
		written, begins string
	}{
		"nothing":     {"", "it wrote nothing to standard error"},
		"log":         {logged, "W1120 a library warns\nW1120"},
		"panic":       {logged + "panic: oh\n\ngoroutine 1 [running]:\n" + stack, "panic: oh\n\ngoroutine 1 [running]:\n\tfile.go"},
		"fatal error": {logged + "fatal error: out of memory\n" + stack, "fatal error: out of memory\n\tfile.go"},
		"data race":   {logged + "==================\nWARNING: DATA RACE\nWrite at\n" + stack, "WARNING: DATA RACE\nWrite at"},
		"two panics":  {"panic: first\npanic: second\n", "panic: first\npanic: second"},
		"cut short":   {logged + "panic: no newline", "panic: no newline"},
		"no newlines": {strings.Repeat("x", 3*maxComplaint), "xxx"},
	} {
		t.Run(name, func(t *testing.T) {
			whole, pieces := &complaint{}, &complaint{}
			fmt.Fprint(whole, row.written)
			for i := range len(row.written) {
				_, err := pieces.Write([]byte(row.written[i : i+1]))
				require.NoError(t, err)
			}
			require.True(t, strings.HasPrefix(whole.String(), row.begins), whole.String())
			require.Equal(t, whole.String(), pieces.String())
			require.LessOrEqual(t, len(whole.String()), maxComplaint)
		})
	}
}

// TestWorkersEndAtARace keeps the user's other settings of the race detector.
func TestWorkersEndAtARace(t *testing.T) {
	t.Setenv("GORACE", "")
	require.Equal(t, "GORACE=halt_on_error=1", endAtRace())
	t.Setenv("GORACE", "history_size=3")
	require.Equal(t, "GORACE=history_size=3 halt_on_error=1", endAtRace())
}
