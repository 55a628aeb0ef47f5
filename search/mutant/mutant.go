// Package mutant holds known bugs as small edits of the code under test. They
// are applied to copies, through the toolchain overlay, when a binary is built;
// the sources themselves stay as they were released.
//
//   - mutants_kubernetes.go, mutants_watch.go, mutants_storage.go,
//     mutants_cacher.go, mutants_etcd.go, mutants_clientgo.go, mutants_controlplane.go, mutants_operator.go: the bugs, by the code that has them
//   - mutants_guarantees.go: edits that show a guarantee broken and are no bug of
//     anybody's
//   - controls.go: edits that change nothing that a guarantee is about
//   - fixes.go: fixes of bugs that simulation has found in released code
//   - statements.go: points between statements, which do not change behaviour
//   - released.go: edits of the releases in cluster/released
//   - places.go: where an edit goes, and where its code has gone if it does not apply
//   - switched.go, probes.go: many mutants in one binary, and how often it reaches them
//   - hunt: the command that hunts them
package mutant

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/sim/overlay"
)

// Mutant is one bug, or one edit that is not a bug.
type Mutant struct {
	Name string
	// Summary says in a sentence what goes wrong.
	Summary string
	// Source says where the bug is known from: issues, changes, and the release that had it. It is
	// empty for an edit that is nobody's bug.
	Source string
	// Target is the cacher with the code, empty if every target has it.
	Target string
	// Module, File, Anchor and Replacement are the edit. The anchor must occur
	// exactly once.
	Module, File        string
	Anchor, Replacement string
	// More are further edits, in this file or in others. Each applies to the result of those before
	// it.
	More []Edit
	// Hunt are the flags of simrun for the runs in which the bug shows soonest. Where simrun can run it
	// itself, they name the scenario minute unless the entry says otherwise.
	Hunt []string
	// Breaks are the guarantees that the bug can break. A run that breaks another one shows
	// something else: released code has bugs of its own, which an edit can move to another seed.
	// Empty means any guarantee.
	Breaks []string
	// Equivalent says why the edit is not a bug; it is empty for bugs. Runs of such a mutant must
	// pass.
	Equivalent string
	// Unseen says why the bug is not expected to be found; empty if it is.
	Unseen string
	// Budget is the number of seeds within which the short hunt must find the bug, 0 if the short
	// hunt leaves it out. A control gets as many.
	Budget int

	points []overlay.Patch // of a variant, which has no edits
}

// mutants are all mutants, in a fixed order.
var mutants = usually(in("minute"), slices.Concat(
	guaranteeMutants, kubernetesMutants, watchMutants, storageMutants, clientGoMutants, etcdMutants, cacherMutants, controls, fixes))

// All lists the mutants in a fixed order.
func All() []Mutant { return slices.Clone(mutants) }

// IsFix reports whether the mutant of that name fixes a finding instead of adding a bug.
func IsFix(name string) bool { return strings.HasPrefix(name, "fix-") }

// ErrUnknown means that no mutant has the given name.
var ErrUnknown = errors.New("unknown mutant")

// Everything lists what can be built in: all mutants, including those of releases, of the control plane
// and of the operator, and what is built in like one.
func Everything() []Mutant {
	return slices.Concat(mutants, released, ControlPlane(), Operator(), variants)
}

// Find returns the mutant of that name.
func Find(name string) (Mutant, error) {
	var names []string
	for _, m := range Everything() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Mutant{}, fmt.Errorf("%w: expected one of %s, found %q", ErrUnknown, strings.Join(names, ", "), name)
}

// Edit is one edit of a mutant with several.
type Edit struct {
	// Module and File are those of the mutant if they are empty.
	Module, File        string
	Anchor, Replacement string
}

// Patches returns the mutant's edits, in the order of application.
func (m Mutant) Patches() []overlay.Patch {
	if m.points != nil {
		return m.points
	}
	var patches []overlay.Patch
	for _, e := range append([]Edit{{Anchor: m.Anchor, Replacement: m.Replacement}}, m.More...) {
		patches = append(patches, overlay.Patch{
			Module: cmp.Or(e.Module, m.Module),
			Edit:   overlay.Edit{File: cmp.Or(e.File, m.File), Anchor: e.Anchor, Replacement: e.Replacement},
		})
	}
	return patches
}

// heldOutOneIn means that one mutant in this many is held out.
const heldOutOneIn = 3

// HeldOut reports whether the mutant is excluded from tuning: no scenario or rule is made with it
// in mind, so that the share of those found predicts the share of unknown bugs. This depends on its
// name only, so that it never changes.
func (m Mutant) HeldOut() bool {
	h := fnv.New32a()
	h.Write([]byte(m.Name))
	return h.Sum32()%heldOutOneIn == 0
}

// FindAll returns the mutants with these names, separated by commas, and the target that has them
// all, empty if every target does.
func FindAll(names string) (found []Mutant, target string, err error) {
	if names == "" {
		return nil, "", nil
	}
	for name := range strings.SplitSeq(names, ",") {
		m, err := Find(name)
		switch {
		case err != nil:
			return nil, "", err
		case slices.ContainsFunc(found, func(other Mutant) bool { return other.Name == name }):
			return nil, "", fmt.Errorf("expected each mutant once, found %s twice", name)
		case target != "" && m.Target != "" && m.Target != target:
			return nil, "", fmt.Errorf("%w: expected mutants of one target, found %s of %s beside others of %s", ErrApart, name, m.Target, target)
		}
		found, target = append(found, m), cmp.Or(target, m.Target)
	}
	return found, target, nil
}

// ErrApart means that no target has all the named mutants.
var ErrApart = errors.New("these mutants cannot be in one program")

// of returns mutants with a target, empty for every target, and a module, where they have none of
// their own. One that fixes a finding is no bug.
func of(target, module string, mutants []Mutant) []Mutant {
	for i := range mutants {
		m := &mutants[i]
		m.Target, m.Module = cmp.Or(m.Target, target), cmp.Or(m.Module, module)
		if finding, is := strings.CutPrefix(m.Name, "fix-finding-"); is {
			m.Equivalent = "it fixes finding " + finding
		}
	}
	return mutants
}

// usually returns mutants with flags of simrun for their runs, where they have none of their own.
func usually(hunt []string, mutants []Mutant) []Mutant {
	for i := range mutants {
		if mutants[i].Hunt == nil {
			mutants[i].Hunt = hunt
		}
	}
	return mutants
}

// in returns flags of simrun that choose a scenario.
func in(scenario string) []string { return []string{"--scenario", scenario} }
