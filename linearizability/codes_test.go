package linearizability_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
)

// seen are the codes of the violations in tests.
var seen = map[string]bool{}

// see requires that violations read well: no value is missing from a sentence.
func see(t require.TestingT, verdict linearizability.Verdict) {
	for _, violation := range verdict.Violations {
		seen[violation.Code.String()] = true
		text := violation.Sentence()
		require.NotRegexp(t, `[{}]|  |^ | $|never received $`, text, violation.Code)
		require.Contains(t, violation.Error(), text)
		report := violation.Report()
		require.Equal(t, violation.Code.String(), report.Code)
		require.NotEmpty(t, report.Subject)
	}
}

// TestMain requires that all tests together see each code, so that there is none that no
// history can show.
func TestMain(m *testing.M) {
	code := m.Run()
	if all := flag.Lookup("test.run").Value.String() == "" && !testing.Short(); all && code == 0 {
		source, err := os.ReadFile("codes.go")
		if err != nil {
			panic(err)
		}
		for _, match := range regexp.MustCompile(`&Code\{"([a-z0-9-]+)"`).FindAllSubmatch(source, -1) {
			if !seen[string(match[1])] {
				fmt.Printf("no test shows a violation of the code %s\n", match[1])
				code = 1
			}
		}
	}
	os.Exit(code)
}
