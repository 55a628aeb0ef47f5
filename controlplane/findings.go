package controlplane

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/search/mutant"
)

// isFinding reports whether something wrong is what a finding describes of released code, and notes that. It is not where the code has
// the fix of that finding: what shows there has another cause.
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
