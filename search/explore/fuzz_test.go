package explore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

// FuzzAnyTapeIsOneRun shows that arbitrary bytes are a schedule, and that a tape is one run. To
// generate them with Go's fuzzer:
//
//	go test $(go run ./sim/overlay/write build/overlay) -run '^$' -fuzz FuzzAnyTapeIsOneRun ./search/explore
func FuzzAnyTapeIsOneRun(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 2, 0, 3, 1, 1})
	f.Add([]byte{255, 255, 255, 255, 255, 0, 9})
	f.Add([]byte{0, 0, 255, 1})
	f.Fuzz(func(t *testing.T, tape []byte) {
		follow := func(tape []byte) *sim.Result {
			config := sim.Config{
				Source: sim.FromOpenTape(1, tape), Record: true,
				Explore: &sim.Explore{Scope: toyScope, Delays: []time.Duration{time.Millisecond, time.Second}},
			}
			return isolate.Run(t, config, func(_ testing.TB, w *sim.World) {
				w.OpenWindow()
				lostUpdate()
				missedFlag()
				w.CloseWindow()
			})
		}
		first := follow(tape)
		require.Zero(t, first.Uncontrolled)
		again := follow(tape)
		require.Equal(t, first.Hash, again.Hash)
		require.Equal(t, first.Explored, again.Explored)
		recorded := follow(first.Tape)
		require.False(t, recorded.Diverged, "what was recorded fits")
		require.Equal(t, first.Hash, recorded.Hash)
		require.Equal(t, first.Explored.Shape, recorded.Explored.Shape)
	})
}
