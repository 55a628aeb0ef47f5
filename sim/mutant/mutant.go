// Package mutant holds known bugs as small edits of the code under test. They
// are applied to copies, through the toolchain overlay, when a binary is built;
// the sources themselves stay as they were released.
package mutant

import (
	"errors"
	"fmt"
	"strings"

	"github.com/watchsim/watchsim/sim/overlay"
)

// Mutant is one bug.
type Mutant struct {
	Name string
	// Summary says in a sentence what goes wrong.
	Summary string
	// Module, File, Anchor and Replacement are the edit. The anchor must occur
	// exactly once.
	Module, File        string
	Anchor, Replacement string
}

const (
	cacherFile    = "pkg/storage/cacher/cacher.go"
	watcherFile   = "pkg/storage/cacher/cache_watcher.go"
	delegatorFile = "pkg/storage/cacher/delegator.go"
)

var mutants = []Mutant{
	{
		Name:        "canary",
		Summary:     "The cacher does not dispatch the events whose resourceVersion is a multiple of 23.",
		Module:      "k8s.io/apiserver",
		File:        cacherFile,
		Anchor:      "			if !watcher.nonblockingAdd(event) {\n",
		Replacement: "			if event.ResourceVersion%23 != 0 && !watcher.nonblockingAdd(event) {\n",
	},
	{
		Name: "A01",
		Summary: "k/k #116122 without the fix of #116172: a watch that passed the readiness check of one generation of the cache " +
			"registers in the next, and misses what happened in between.",
		Module:      "k8s.io/apiserver",
		File:        cacherFile,
		Anchor:      "		if generation, _, err := c.ready.checkAndReadGeneration(); generation != readyGeneration || err != nil {\n",
		Replacement: "		if generation, _, _ := c.ready.checkAndReadGeneration(); generation < readyGeneration {\n",
	},
	{
		Name:        "unrefreshed",
		Summary:     "The cacher sends bookmarks every ten minutes instead of every minute. Seen in the scenario idle.",
		Module:      "k8s.io/apiserver",
		File:        watcherFile,
		Anchor:      "	heartbeatTime := now.Add(bookmarkFrequency)\n",
		Replacement: "	heartbeatTime := now.Add(10 * bookmarkFrequency)\n",
	},
	{
		Name:        "blocked",
		Summary:     "The cacher waits five seconds for a watcher that does not read, instead of what its time budget has left. Seen in the scenario crowd.",
		Module:      "k8s.io/apiserver",
		File:        cacherFile,
		Anchor:      "			timeout := c.dispatchTimeoutBudget.takeAvailable()\n",
		Replacement: "			timeout := c.dispatchTimeoutBudget.takeAvailable() + 5*time.Second\n",
	},
	{
		Name:        "unreleased",
		Summary:     "The cacher does not forget a watcher that is stopped.",
		Module:      "k8s.io/apiserver",
		File:        watcherFile,
		Anchor:      "func (c *cacheWatcher) Stop() {\n	c.forget(false)\n",
		Replacement: "func (c *cacheWatcher) Stop() {\n",
	},
	{
		Name:        "unshared",
		Summary:     "Watches of clients are served by etcd, one for one, instead of by the cacher.",
		Module:      "k8s.io/apiserver",
		File:        delegatorFile,
		Anchor:      "	return c.cacher.Watch(ctx, key, opts)\n",
		Replacement: "	return c.storage.Watch(ctx, key, opts)\n",
	},
	{
		Name:        "unisolated",
		Summary:     "The cacher delivers the objects that it holds instead of copies of them.",
		Module:      "k8s.io/apiserver",
		File:        watcherFile,
		Anchor:      "	return object.DeepCopyObject()\n",
		Replacement: "	return object\n",
	},
}

// All lists the mutants in a fixed order.
func All() []Mutant { return append([]Mutant{}, mutants...) }

// ErrUnknown means that no mutant has the name that was given.
var ErrUnknown = errors.New("unknown mutant")

// Find returns the mutant of that name.
func Find(name string) (Mutant, error) {
	var names []string
	for _, m := range mutants {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Mutant{}, fmt.Errorf("%w: expected one of %s, found %q", ErrUnknown, strings.Join(names, ", "), name)
}

// Patch is the mutant's edit.
func (m Mutant) Patch() overlay.Patch {
	return overlay.Patch{Module: m.Module, File: m.File, Anchor: m.Anchor, Replacement: m.Replacement}
}
