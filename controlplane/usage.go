package controlplane

import (
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/simtest"
)

// Group is a group of things that people do to a cluster.
type Group string

// The groups: those of users, each about one kind of object, and those of administrators.
const (
	Deployments  Group = "deployments"
	StatefulSets Group = "stateful sets"
	DaemonSets   Group = "daemon sets"
	Jobs         Group = "jobs"
	Services     Group = "services"
	Pods         Group = "pods"
	Controlled   Group = "controlled" // objects, which controllers make: they are deleted, or lose a label
	Quotas       Group = "quotas"
	Budgets      Group = "budgets"     // and evictions
	Definitions  Group = "definitions" // of custom resources, which come and go
	Namespaces   Group = "namespaces"  // are deleted, with all that is in them
	Nodes        Group = "nodes"       // lose power, are drained, labelled and replaced
	Leaders      Group = "leaders"     // are killed, as by an upgrade
)

// groups lists them.
var groups = []Group{Deployments, StatefulSets, DaemonSets, Jobs, Services, Pods, Controlled, Quotas, Budgets, Definitions, Namespaces, Nodes, Leaders}

// maxReplicas is the most that a user asks for at once.
const maxReplicas = 4

// Usage is what people do to a cluster in a run, and how.
type Usage struct {
	Groups []Group
	// People is how many do things at the same time. In some runs most of them wait for an answer.
	People int
	// Pause is the most time between two things that a user does.
	Pause time.Duration
	// Burst is how many things a user does at most to one object without a pause: deletes it and creates it again, or changes it twice.
	Burst int
	// Names is how many names people have for objects of a kind in a namespace. The fewer there are, the sooner an
	// object is changed, and the sooner another one gets its name.
	Names int
	// Manifests is how many manifests people have for each kind of object, and Contents what they contain.
	Manifests int
	Contents  uint64
	// MilliCPU is what a pod requests. A node has 4000.
	MilliCPU int64
	// MaxPods is what the quota of a namespace allows.
	MaxPods int64
}

// DrawUsage draws what people do: some of the groups, few of them in some runs and many in others, or just those that are given. In some runs nodes
// fill up, and in some quotas do.
func DrawUsage(t *simtest.T, given ...Group) Usage {
	if len(given) == 0 {
		given = simtest.Draw(t, anyOf(groups), "groups")
	}
	return Usage{
		Groups:    given,
		Pause:     time.Duration(simtest.Draw(t, rapid.SampledFrom([]int{2000, 500, 100}), "milliseconds between two actions of a user")) * time.Millisecond,
		Burst:     simtest.Draw(t, rapid.SampledFrom([]int{1, 1, 2, 5}), "actions of a user without a pause"),
		People:    simtest.Draw(t, rapid.IntRange(1, 4), "people"),
		Names:     simtest.Draw(t, rapid.IntRange(1, 3), "names of objects"),
		Manifests: simtest.Draw(t, rapid.IntRange(1, 4), "manifests"),
		Contents:  simtest.Draw(t, rapid.Uint64(), "their contents"),
		MilliCPU:  simtest.Draw(t, rapid.SampledFrom([]int64{100, 1000}), "milliCPU of a pod"),
		MaxPods:   simtest.Draw(t, rapid.SampledFrom([]int64{60, 60, 5}), "pods of a quota"),
	}
}

// Again is what people do once all is well: things of every kind, to the same objects, one after the other.
func (u Usage) Again() Usage {
	u.Groups, u.Burst, u.Pause = groups, 1, 500*time.Millisecond
	return u
}

// anyOf draws some of a list, at least one: each of them as often as not, or half or a quarter as often, in each run alike.
func anyOf[T any](all []T) *rapid.Generator[[]T] {
	return rapid.Custom(func(t *rapid.T) (some []T) {
		halved := rapid.SampledFrom([]int{1, 2, 3}).Draw(t, "how often its chance is halved")
		for _, one := range all {
			with := true
			for range halved {
				with = rapid.Bool().Draw(t, "with") && with
			}
			if with {
				some = append(some, one)
			}
		}
		if len(some) == 0 {
			some = append(some, rapid.SampledFrom(all).Draw(t, "one"))
		}
		return some
	})
}

// name draws one of the names of objects.
func (u Usage) name() string { return string(rune('a' + rand.IntN(u.Names))) }

// note says that an action has succeeded.
func (p *Plane) note(act any) {
	if p.done == nil {
		p.done = map[string]bool{}
	}
	p.done[method(act)] = true
}

// method is the name of the method that an action is.
func method(act any) string {
	name := runtime.FuncForPC(reflect.ValueOf(act).Pointer()).Name()
	return name[strings.LastIndex(name, ".")+1:]
}

// Tell has a test report in how many runs each action of people has succeeded that they tried, and which never has.
func (p *Plane) Tell(t *simtest.T, usage Usage) {
	for _, group := range usage.Groups {
		var names []string
		for _, act := range userActions[group] {
			names = append(names, method(act))
		}
		for _, act := range administratorActions[group] {
			names = append(names, method(act))
		}
		for _, name := range slices.Compact(names) {
			t.Sometimes(name, p.done[name])
		}
	}
}
