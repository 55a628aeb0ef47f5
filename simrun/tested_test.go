package simrun

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every scenario of a tested target is a test there.
func TestScenariosThatAreTestsAreThere(t *testing.T) {
	for _, target := range testedTargets {
		files, err := filepath.Glob(filepath.Join("..", target.Tests.Module, target.Tests.Package, "*_test.go"))
		require.NoError(t, err)
		var all strings.Builder
		for _, file := range files {
			all.WriteString(content(t, file))
		}
		for _, one := range target.Scenarios {
			require.Contains(t, all.String(), "\nfunc "+one.Test+"(t *testing.T)", one.Name)
		}
	}
}
