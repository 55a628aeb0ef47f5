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

const cacherFile = "pkg/storage/cacher/cacher.go"

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
