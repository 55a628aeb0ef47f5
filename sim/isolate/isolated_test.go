package isolate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is logged after the body has ended does not overwrite what is added to its log.
func TestWhatIsSaidIsACopy(t *testing.T) {
	var still testing.TB
	said := Inside(t, func(in testing.TB) {
		still = in
		for range 3 {
			in.Log("during")
		}
	}, func(body func()) { go body() })
	with := append(said.Log, "added")
	still.Log("after")
	require.Equal(t, "added", with[3])
}
