package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheDiskOfAMemberThatHangsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, m := time.Now(), &Member{}
		m.awaitDisk()
		require.Zero(t, time.Since(began))

		m.hang(true)
		m.hang(true)
		time.AfterFunc(time.Second, func() { m.hang(false) })
		m.awaitDisk()
		require.Equal(t, time.Second, time.Since(began))

		m.hang(false)
		m.awaitDisk()
		require.Equal(t, time.Second, time.Since(began))
	})
}
