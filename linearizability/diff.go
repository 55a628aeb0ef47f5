package linearizability

import (
	"fmt"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/model"
)

// flaw is how one object of a state differs from what it should be.
type flaw int

const (
	missing flaw = iota // not there at all
	foreign             // there, but not part of the state
	doubled             // there more than once
	stale               // at another RV than the state's
	altered             // at the right RV, with another content
)

// difference is one flaw of a state. want is nil for foreign, got for missing.
type difference struct {
	flaw      flaw
	want, got *model.Object
}

// compareStates returns how got differs from want, which is in order of keys.
// The order of got does not matter. It is nil if they are the same.
func compareStates(want, got []*model.Object) []difference {
	if slices.EqualFunc(want, got, (*model.Object).Equal) {
		return nil
	}
	sorted := slices.Clone(got)
	slices.SortStableFunc(sorted, func(a, b *model.Object) int { return a.Key().Compare(b.Key()) })

	var differences []difference
	i := 0
	for j, object := range sorted {
		if j > 0 && sorted[j-1].Key() == object.Key() {
			differences = append(differences, difference{flaw: doubled, want: sorted[j-1], got: object})
			continue
		}
		for i < len(want) && want[i].Key().Compare(object.Key()) < 0 {
			differences = append(differences, difference{flaw: missing, want: want[i]})
			i++
		}
		if i == len(want) || want[i].Key() != object.Key() {
			differences = append(differences, difference{flaw: foreign, got: object})
			continue
		}
		if want[i].RV != object.RV {
			differences = append(differences, difference{flaw: stale, want: want[i], got: object})
		} else if !want[i].Equal(object) {
			differences = append(differences, difference{flaw: altered, want: want[i], got: object})
		}
		i++
	}
	for ; i < len(want); i++ {
		differences = append(differences, difference{flaw: missing, want: want[i]})
	}
	return differences
}

func (d difference) String() string {
	switch d.flaw {
	case missing:
		return fmt.Sprintf("%s at RV %d is missing", d.want.Key(), d.want.RV)
	case foreign:
		return fmt.Sprintf("%s at RV %d does not belong", d.got.Key(), d.got.RV)
	case doubled:
		return fmt.Sprintf("%s is there twice, at RV %d and at RV %d", d.got.Key(), d.want.RV, d.got.RV)
	case stale:
		return fmt.Sprintf("%s is at RV %d instead of RV %d", d.got.Key(), d.got.RV, d.want.RV)
	}
	return fmt.Sprintf("%s has %s", d.got.Key(), describeDifference(d.want, d.got))
}

// differencesShown limits how many differences of one state a text spells out.
const differencesShown = 3

func describeDifferences(differences []difference) string {
	var parts []string
	for i, d := range differences {
		if i == differencesShown {
			parts = append(parts, fmt.Sprintf("and %d more", len(differences)-i))
			break
		}
		parts = append(parts, d.String())
	}
	return strings.Join(parts, ", ")
}

// rvs returns the revisions that a set of differences is about.
func rvs(differences []difference) []int64 {
	var all []int64
	for _, d := range differences {
		if d.want != nil {
			all = append(all, d.want.RV)
		} else {
			all = append(all, d.got.RV)
		}
	}
	return all
}

func pointers(objects []model.Object) []*model.Object {
	all := make([]*model.Object, len(objects))
	for i := range objects {
		all[i] = &objects[i]
	}
	return all
}
