package controlplane

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/search/mutant"
)

// isFinding notes a failure that a finding describes. It returns false if the fix of that finding is switched on: then the failure
// has another cause.
func (s *store) isFinding(number int, resource, what string) bool {
	if fixed(number) {
		return false
	}
	s.note(resource, fmt.Sprintf("%s (finding %d)", what, number))
	return true
}

// fixed reports whether the fix of a finding is switched on in this process.
func fixed(number int) bool {
	return slices.Contains(strings.Split(os.Getenv(mutant.Variable), ","), fmt.Sprintf("fix-finding-%d", number))
}
