package isolate

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// aloneVariable is the environment variable that names the test that a process runs alone.
const aloneVariable = "WATCHSIM_ALONE"

// simulated reports whether this process has begun a simulation.
var simulated bool

// alone returns if a simulation may run in place: in a process that runs one test, and only once.
// Otherwise it runs the test in such a process, and ends it.
func alone(t testing.TB) {
	t.Helper()
	if os.Getenv(aloneVariable) == t.Name() {
		if simulated {
			t.Skip("with the race detector only the first simulation of a test runs")
		}
		simulated = true
		return
	}
	command := exec.Command(os.Args[0], "-test.v", "-test.count=1", "-test.run="+Exactly(t.Name()))
	command.Env = append(os.Environ(), aloneVariable+"="+t.Name())
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("in a process of its own: %v\n%s", err, output)
	}
	t.Skip("with the race detector this test runs in a process of its own, where it did not fail")
}

// Exactly returns the pattern of -test.run that matches only this test.
func Exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}
