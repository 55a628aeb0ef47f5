package linearizability

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/model"
)

// Flaw is how one object of a state differs from what it should be.
type Flaw int

// The flaws.
const (
	Missing Flaw = iota // absent
	Foreign             // present, but not part of the state
	Doubled             // present more than once
	Stale               // at another RV than the state's
	Altered             // at the right RV, with another content
)

// String returns the flaw's name.
func (f Flaw) String() string {
	return [...]string{"missing", "foreign", "doubled", "stale", "altered"}[f]
}

// Difference is one flaw of a state. Want is nil for Foreign, Got for Missing.
type Difference struct {
	Flaw      Flaw
	Want, Got *model.Object
}

// compareStates returns how got differs from want, which is in order of keys.
// The order of got does not matter. It is nil if they are the same.
func compareStates(want, got []*model.Object) []Difference {
	if slices.EqualFunc(want, got, (*model.Object).Equal) {
		return nil
	}
	sorted := slices.Clone(got)
	slices.SortStableFunc(sorted, func(a, b *model.Object) int { return a.Key().Compare(b.Key()) })

	var differences []Difference
	i := 0
	for j, object := range sorted {
		if j > 0 && sorted[j-1].Key() == object.Key() {
			differences = append(differences, Difference{Flaw: Doubled, Want: sorted[j-1], Got: object})
			continue
		}
		for i < len(want) && want[i].Key().Compare(object.Key()) < 0 {
			differences = append(differences, Difference{Flaw: Missing, Want: want[i]})
			i++
		}
		if i == len(want) || want[i].Key() != object.Key() {
			differences = append(differences, Difference{Flaw: Foreign, Got: object})
			continue
		}
		if want[i].RV != object.RV {
			differences = append(differences, Difference{Flaw: Stale, Want: want[i], Got: object})
		} else if !want[i].Equal(object) {
			differences = append(differences, Difference{Flaw: Altered, Want: want[i], Got: object})
		}
		i++
	}
	for ; i < len(want); i++ {
		differences = append(differences, Difference{Flaw: Missing, Want: want[i]})
	}
	return differences
}

func (d Difference) String() string {
	switch d.Flaw {
	case Missing:
		return fmt.Sprintf("%s (RV %d) is missing", d.Want.Key(), d.Want.RV)
	case Foreign:
		return fmt.Sprintf("%s (RV %d) does not belong", d.Got.Key(), d.Got.RV)
	case Doubled:
		return fmt.Sprintf("%s is present twice, at RV %d and RV %d", d.Got.Key(), d.Want.RV, d.Got.RV)
	case Stale:
		return fmt.Sprintf("%s is at RV %d instead of RV %d", d.Got.Key(), d.Got.RV, d.Want.RV)
	}
	return fmt.Sprintf("%s has %s", d.Got.Key(), model.DescribeDifference(d.Want, d.Got))
}

// differencesShown is the most differences of one state in a message.
const differencesShown = 3

func describeDifferences(differences []Difference) string {
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
func rvs(differences []Difference) []int64 {
	var all []int64
	for _, d := range differences {
		all = append(all, cmp.Or(d.Want, d.Got).RV)
	}
	return all
}
