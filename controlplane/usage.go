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

// Group is a group of actions of users or administrators.
type Group string

// The groups of users, each for one kind of object, and those of administrators.
const (
	Deployments  Group = "deployments"
	ReplicaSets  Group = "replica sets" // without a deployment
	StatefulSets Group = "stateful sets"
	DaemonSets   Group = "daemon sets"
	Jobs         Group = "jobs"
	CronJobs     Group = "cron jobs"
	Services     Group = "services"
	Pods         Group = "pods"
	Controlled   Group = "controlled" // objects, which controllers create: they are deleted, or lose a label
	Finalizers   Group = "finalizers" // of controlled objects and workloads
	Quotas       Group = "quotas"
	Budgets      Group = "budgets"     // and evictions
	Placement    Group = "placement"   // of pods: some exclude others from their node, or wait at a scheduling gate
	Volumes      Group = "volumes"     // and the claims that they are bound to
	Definitions  Group = "definitions" // of custom resources, which come and go
	Namespaces   Group = "namespaces"  // are deleted, with all that is in them
	Nodes        Group = "nodes"       // lose power, are drained, labelled, tainted and replaced
	Leaders      Group = "leaders"     // are killed or stopped, as by an upgrade
)

// groups lists them.
var groups = []Group{Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs, Services, Pods, Controlled, Finalizers, Quotas, Budgets, Placement, Volumes, Definitions, Namespaces, Nodes, Leaders}

// maxReplicas is the most replicas that a user asks for.
const maxReplicas = 4

// Usage says what users and administrators do in a run, and how.
type Usage struct {
	Groups []Group
	// Stay means that finalizers which users have added stay until [Release]. Otherwise they are removed when users end.
	Stay bool
	// People is how many users act concurrently. In some runs most of them wait for an answer.
	People int
	// Pause is the longest pause between two actions of a user.
	Pause time.Duration
	// Burst is the most actions of a user on one object without a pause: it is deleted and recreated, or changed twice.
	Burst int
	// ReactOneIn makes users react to one in so many changes of objects at once; 0 for none.
	ReactOneIn int
	// Names is the number of names for objects of a kind in a namespace. The fewer there are, the sooner an
	// object is changed, or recreated under its name.
	Names int
	// Manifests is the number of manifests for each kind of object, and Contents the seed of their contents.
	Manifests int
	Contents  uint64
	// MilliCPU is the CPU that a pod requests. A node has 4000.
	MilliCPU int64
	// MaxPods is the pod quota of a namespace.
	MaxPods int64
}

// DrawUsage draws a usage with the given groups, or with some of all groups: few in some runs, many in others. In some runs nodes
// fill up, and in some quotas do.
func DrawUsage(t *simtest.T, given ...Group) Usage {
	if len(given) == 0 {
		given = simtest.Draw(t, anyOf(groups), "groups")
	}
	return Usage{
		Groups:     given,
		Pause:      time.Duration(simtest.Draw(t, rapid.SampledFrom([]int{2000, 500, 100}), "milliseconds between two actions of a user")) * time.Millisecond,
		Burst:      simtest.Draw(t, rapid.SampledFrom([]int{1, 1, 2, 5}), "actions of a user without a pause"),
		ReactOneIn: simtest.Draw(t, rapid.SampledFrom([]int{0, 0, 16, 64}), "changes of objects until a user reacts"),
		People:     simtest.Draw(t, rapid.IntRange(1, 4), "people"),
		Names:      simtest.Draw(t, rapid.IntRange(1, 3), "names of objects"),
		Manifests:  simtest.Draw(t, rapid.IntRange(1, 4), "manifests"),
		Contents:   simtest.Draw(t, rapid.Uint64(), "their contents"),
		MilliCPU:   simtest.Draw(t, rapid.SampledFrom([]int64{100, 1000}), "milliCPU of a pod"),
		MaxPods:    simtest.Draw(t, rapid.SampledFrom([]int64{60, 60, 5}), "pods of a quota"),
	}
}

// Again returns the usage after convergence: all groups, on the same objects, one action after the other, and finalizers stay. Cron jobs, which have had
// their next minute by then, stay suspended.
func (u Usage) Again() Usage {
	u.Burst, u.Pause, u.ReactOneIn, u.Stay = 1, 500*time.Millisecond, 0, true
	u.Groups = slices.DeleteFunc(slices.Clone(groups), func(g Group) bool { return g == CronJobs })
	return u
}

// anyOf draws at least one element of a list, each with probability 1/2, 1/4 or 1/8, the same for all in a run.
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

// note records that an action has succeeded.
func (p *Plane) note(act any) {
	if p.done == nil {
		p.done = map[string]bool{}
	}
	p.done[method(act)] = true
}

// method returns the name of an action's method.
func method(act any) string {
	name := runtime.FuncForPC(reflect.ValueOf(act).Pointer()).Name()
	return name[strings.LastIndex(name, ".")+1:]
}

// Tell makes a test report in how many runs each action of the usage's groups has succeeded, and which never has, and what has befallen pods.
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
	t.Sometimes("a user reacts to a change", p.done[method((*person).actOn)])
	t.Sometimes("a gatekeeper lets a pod be scheduled", p.done[method((*Plane).Gatekeeper)])
	t.Sometimes("schedulers ask an extender", p.done[method((*Plane).Extender)])
	t.Sometimes("a kubelet evicts a pod", p.befell(func(c *containers) bool { return c.evicted }))
	t.Sometimes("a kubelet restarts what has failed", p.befell(func(c *containers) bool { return c.restarts > 0 }))
	t.Sometimes("a pod becomes unready", p.befell(func(c *containers) bool { return c.changes > 0 }))
}
