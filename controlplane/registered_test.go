package controlplane

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A process finds twice that another one has registered its settings, then runs until it ends.
func TestProcessesThatRegisterAtTheSameInstant(t *testing.T) {
	taken, ended, calls := fmt.Errorf("unable to register configz: %w", errors.New(`register config "c" twice`)), errors.New("ended"), 0
	require.Equal(t, ended, registered(func() error {
		if calls++; calls < 3 {
			return taken
		}
		return ended
	}))
	require.Equal(t, 3, calls)
	require.NoError(t, registered(func() error { return nil }))
}
