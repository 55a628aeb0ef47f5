// Package mutant holds known bugs as small edits of the code under test. They
// are applied to copies, through the toolchain overlay, when a binary is built;
// the sources themselves stay as they were released.
//
//   - mutants_kubernetes.go, mutants_cacher.go, mutants_etcd.go, mutants_clientgo.go:
//     the bugs, by the code that has them
//   - mutants_guarantees.go: edits that show a guarantee broken and are no bug of
//     anybody's
//   - controls.go: edits that change nothing a guarantee speaks of
//   - fixes.go: fixes of bugs that simulation has found in released code
//   - released.go: edits of the releases below cluster/released
//   - places.go: where an edit goes, and where its code has gone if it does not apply
//   - hunt: the command that looks for them
package mutant

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/sim/overlay"
)

// Mutant is one bug, or one edit that is none.
type Mutant struct {
	Name string
	// Summary says in a sentence what goes wrong.
	Summary string
	// Source is where the bug is known from: issues, changes, and the release that
	// had it. Empty for an edit that is nobody's bug.
	Source string
	// Target is the cacher that has the code, empty if every target has it.
	Target string
	// Module, File, Anchor and Replacement are the edit. The anchor must occur
	// exactly once.
	Module, File        string
	Anchor, Replacement string
	// Hunt are the flags for the runs of simrun in which the bug shows soonest.
	Hunt []string
	// Breaks are the guarantees that the bug can break. A run that breaks another one
	// shows something else: released code has bugs of its own, which an edit can move
	// to another seed. Empty if every guarantee may be broken.
	Breaks []string
	// Equivalent says why the edit is no bug; empty if it is one. Runs of such a
	// mutant have to pass.
	Equivalent string
	// Unseen says why the bug is not expected to be found; empty if it is.
	Unseen string
	// Budget is the number of seeds within which the short hunt has to find the
	// bug, 0 if the short hunt leaves it out. A control gets as many.
	Budget int
}

// mutants are all there are, in a fixed order.
var mutants = slices.Concat(guaranteeMutants, kubernetesMutants, clientGoMutants, etcdMutants, cacherMutants, controls, fixes)

// All lists the mutants in a fixed order.
func All() []Mutant { return slices.Clone(mutants) }

// ErrUnknown means that no mutant has the name that was given.
var ErrUnknown = errors.New("unknown mutant")

// Find returns the mutant of that name.
func Find(name string) (Mutant, error) {
	var names []string
	for _, m := range slices.Concat(mutants, released) {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Mutant{}, fmt.Errorf("%w: expected one of %s, found %q", ErrUnknown, strings.Join(names, ", "), name)
}

// Patch is the mutant's edit.
func (m Mutant) Patch() overlay.Patch {
	return overlay.Patch{Module: m.Module, Edit: overlay.Edit{File: m.File, Anchor: m.Anchor, Replacement: m.Replacement}}
}

// in are flags of simrun that name a scenario.
func in(scenario string) []string { return []string{"--scenario", scenario} }
