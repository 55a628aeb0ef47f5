package etcd_test

import (
	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/etcd/current"
)

func init() { etcd.CurrentRelease = current.Release{} }
