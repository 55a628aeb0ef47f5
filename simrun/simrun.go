// Package simrun is the command of that name: it reads flags, prints and exits. It answers one
// question: what does the user ask for on the command line?
//
// A command of your own that calls [Main] with targets has all features of simrun, with your watch
// cache or storage under test:
//
//	func main() { simrun.Main(simrun.Target{Name: "mine", Summary: "my cache", New: newTarget}) }
//
// docs/storage.md shows how to make a target of a cache.
package simrun

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/etcd/current"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver"
	"github.com/watchsim/watchsim/cluster/target/cacher"
	"github.com/watchsim/watchsim/cluster/target/kubernetes"
	"github.com/watchsim/watchsim/search/selfbuild"
)

// Target is a watch cache or a storage to test.
type Target struct {
	// Name is its name for --target, and Summary says in half a sentence what it is.
	Name, Summary string
	// New makes it; nil stands for Kubernetes' own cache, if there is a Store.
	New func() target.Target
	// Store is what runs in etcd's place below it; nil stands for etcd.
	Store *etcd.Store
}

// Main runs the command and exits. Targets of your own precede those of this project, so that the
// first of them is the default. The source of the package main that calls it must be available:
// Main rebuilds it with the toolchain overlay.
func Main(own ...Target) {
	if len(own) > 0 {
		if err := add(own); err != nil {
			fmt.Fprintf(os.Stderr, "simrun: %v\n", err)
			os.Exit(exitUsage)
		}
		_, file, _, _ := runtime.Caller(1)
		selfbuild.CommandIn(filepath.Dir(file))
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// add puts targets before the existing ones.
func add(own []Target) error {
	for i, t := range own {
		if t.Store != nil {
			if t.Store.Start == nil || t.Store.Committed == nil {
				return fmt.Errorf("expected a store that can be started and tells what was committed, found %q, which lacks one of the functions", t.Name)
			}
			if t.New == nil {
				own[i].New = newKubernetes
			}
		}
		if t.Name == "" || own[i].New == nil {
			return fmt.Errorf("expected a target with a name and a function that makes it, found %q without one of them", t.Name)
		}
		if slices.ContainsFunc(slices.Concat(targets, own[:i]), func(other Target) bool { return other.Name == t.Name }) {
			return fmt.Errorf("expected a name that no other target has, found %q twice", t.Name)
		}
	}
	targets = append(own[:len(own):len(own)], targets...)
	return nil
}

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
