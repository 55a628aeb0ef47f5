//go:build watchsim

package main

import (
	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/httpserver"
	"github.com/watchsim/watchsim/simtest"
)

func init() {
	store := inEtcdsPlace(mistakes{})
	start := store.Start
	store.Start = func(config etcd.StoreConfig) (etcd.Services, error) {
		started = true
		return start(config)
	}
	simtest.Register("store", func() target.Servers { return target.OverServers(httpserver.NewKubernetes(), store) })
}
