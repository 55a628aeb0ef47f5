//go:build watchsim

package main

import (
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/kubernetes"
	"github.com/watchsim/watchsim/simtest"
)

func init() {
	simtest.Register("store", func() target.Servers { return target.OverServers(kubernetes.NewWeb(), inEtcdsPlace(mistakes{})) })
}
