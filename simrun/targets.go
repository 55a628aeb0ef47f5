package simrun

import (
	"slices"

	"github.com/watchsim/watchsim/cluster/etcd/current"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver"
	"github.com/watchsim/watchsim/cluster/target/cacher"
	"github.com/watchsim/watchsim/cluster/target/kubernetes"
)

// targets are the built-in targets; the first is the default, except for mutants of another one.
var targets = []Target{
	{Name: "cacher", Summary: "the project's own watch cache over k8s.io/apiserver's etcd3 store", New: cacher.New},
	{Name: "kubernetes", Summary: "k8s.io/apiserver's etcd3 store and Cacher, unmodified", New: newKubernetes},
	{Name: "etcd3", Summary: "k8s.io/apiserver's etcd3 store alone, as with --watch-cache=false", New: func() target.Target { return apiserver.NewUncached(current.Release{}) }},
}

func newKubernetes() target.Target { return kubernetes.New("kubernetes", current.Release{}) }

// hasStore reports whether a target has a store in etcd's place.
func hasStore(name string) bool {
	return slices.ContainsFunc(targets, func(t Target) bool { return t.Name == name && t.Store != nil })
}

func findTarget(name string) (target.Target, error) {
	for _, t := range targets {
		switch {
		case t.Name == name && t.Store != nil:
			return target.Over(t.New(), t.Store), nil
		case t.Name == name:
			return t.New(), nil
		}
	}
	return nil, checkName("target", name, targetNames())
}
