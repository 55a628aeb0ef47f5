package simrun

import (
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver"
	"github.com/watchsim/watchsim/cluster/target/cacher"
	"github.com/watchsim/watchsim/cluster/target/kubernetes"
)

// targets are the cachers that can be run; the first is the default, but for
// mutants of another.
var targets = []Target{
	{"cacher", "the project's own watch cache over k8s.io/apiserver's etcd3 store", cacher.New},
	{"kubernetes", "k8s.io/apiserver's etcd3 store and Cacher, unmodified", kubernetes.New},
	{"etcd3", "k8s.io/apiserver's etcd3 store alone, as with --watch-cache=false", apiserver.NewUncached},
}

func findTarget(name string) (target.Target, error) {
	for _, t := range targets {
		if t.Name == name {
			return t.New(), nil
		}
	}
	return nil, checkName("target", name, targetNames())
}
