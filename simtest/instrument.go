package simtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/watchsim/watchsim/sim/isolate"
)

// harness are the packages of this module that are built without the race detector. What they do within
// a system call stands for the operating system's work, so that two programs with files on one disk
// would seem to race. Nothing is inlined into them: generic code of Go's packages, such as sync.Map,
// would be compiled there without telling the detector of its atomic operations, and the linker picks
// any one of the copies.
var harness = []string{"cluster/...", "faults", "linearizability/...", "model/...", "sim/...", "simtest", "traces/..."}

const module = "github.com/watchsim/watchsim/"

// instrumented returns the arguments and the environment with which the go command builds the
// binary that simulates as it built this one, with -race and -cover.
func instrumented() (arguments, environment []string) {
	environment = []string{"CGO_ENABLED=0"} // a process with cgo cannot be copied
	if isolate.Raced {
		environment = []string{"CGO_ENABLED=1"} // the race detector needs it
		arguments = append(arguments, "-race")
		for _, packages := range harness {
			arguments = append(arguments, "-gcflags="+module+packages+"=-race=false -l")
		}
	}
	if mode := testing.CoverMode(); mode != "" {
		arguments = append(arguments, "-covermode="+mode)
		if packages := coveredPackages(); len(packages) > 0 {
			arguments = append(arguments, "-coverpkg="+strings.Join(packages, ","))
		}
	}
	return arguments, environment
}

// coveredPackages are those of -coverpkg, which only the go command that runs this test knows. Its
// counters and those of the binary that simulates add up only if both cover the same packages.
func coveredPackages() []string {
	process := filepath.Join("/proc", strconv.Itoa(os.Getppid()))
	line, _ := os.ReadFile(filepath.Join(process, "cmdline"))
	patterns := ""
	given := strings.Split(string(line), "\x00")
	for i, argument := range given {
		name, value, has := strings.Cut(strings.TrimLeft(argument, "-"), "=")
		if name != "coverpkg" {
			continue
		}
		if patterns = value; !has && i+1 < len(given) {
			patterns = given[i+1]
		}
	}
	if patterns == "" {
		return nil
	}
	list := exec.Command("go", append([]string{"list"}, strings.Split(patterns, ",")...)...)
	list.Dir, _ = os.Readlink(filepath.Join(process, "cwd"))
	out, _ := list.Output() // the go command has already accepted them
	return strings.Fields(string(out))
}

// dataRace is the prefix in a run's log of what the race detector reported.
const dataRace = "a data race: "

// dataRaces returns the race detector's reports in the output of a process.
func dataRaces(printed string) (all []string) {
	for _, one := range strings.Split(printed, "WARNING: DATA RACE\n")[1:] {
		one, _, _ = strings.Cut(one, "\n==================")
		all = append(all, one)
	}
	return all
}
