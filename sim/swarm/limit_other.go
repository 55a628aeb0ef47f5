//go:build !linux

package swarm

import (
	"errors"
	"time"
)

// processorTime is not known here, and all time counts.
func processorTime(int) (time.Duration, error) { return 0, errors.ErrUnsupported }
