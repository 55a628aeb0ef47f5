package mutant

import "github.com/watchsim/watchsim/sim/overlay"

// variants are not mutants but can be built in like one: they change how the code under test is
// scheduled, but not what it does. They can be combined with every mutant.
var variants = []Mutant{{
	Name: "statements",
	Summary: "Goroutines can be overtaken between any two statements of caches, the etcd3 store, client-go's reflectors and etcd's client, " +
		"instead of only where they synchronise.",
	Equivalent: "it is the same code",
	points: []overlay.Patch{
		{Module: apiserver, Points: "pkg/storage/cacher"},
		{Module: apiserver, Points: "pkg/storage/cacher/store"},
		{Module: apiserver, Points: "pkg/storage/cacher/progress"},
		{Module: apiserver, Points: "pkg/storage/etcd3"},
		{Module: clientGo, Points: "tools/cache"},
		{Module: etcdClient, Points: "."},
		{Module: watchsim, Points: "cacher"},
	},
}}
