//go:build watchsim

package simtest_test

import (
	"time"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/cacher"
	"github.com/watchsim/watchsim/cluster/target/httpserver"
	"github.com/watchsim/watchsim/simtest"
)

func init() {
	options := httpserver.Options{EventTTL: 10 * time.Second}
	simtest.Register(briefKubernetes, func() target.Servers { return httpserver.New(options) })
	simtest.Register(briefWatchsim, func() target.Servers { return cacher.NewWeb(options) })
}
