package simtest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/sim/isolate"
)

// summarise reports what the seeds came to.
func (h *hunt) summarise(took time.Duration) {
	h.t.Helper()
	seeds := h.each
	if h.passed != 1 {
		seeds += "s"
	}
	text := fmt.Sprintf("%d %s passed in %v, with %v of processor time", h.passed, seeds, took.Round(10*time.Millisecond), h.spent.Round(10*time.Millisecond))
	if h.passed == 1 && h.failed == nil {
		text += fmt.Sprintf(" (hash %016x)", h.hash)
	}
	if *flagVerify > 1 {
		text += fmt.Sprintf(", each the same run in %d processes", *flagVerify)
	}
	if h.skipped > 0 {
		text += fmt.Sprintf(", %d were skipped", h.skipped)
	}
	if h.cut != "" {
		text += "; " + h.cut
	}
	for _, name := range slices.Sorted(maps.Keys(h.reached)) {
		if h.reached[name] == 0 {
			text += fmt.Sprintf("\nnever: %s", name)
		} else {
			text += fmt.Sprintf("\n%s: in %d runs", name, h.reached[name])
		}
	}
	for _, why := range slices.Sorted(maps.Keys(h.omitted)) {
		var of []string
		for _, resource := range slices.Sorted(maps.Keys(h.omitted[why])) {
			of = append(of, fmt.Sprintf("%s (%d)", resource, h.omitted[why][resource]))
		}
		if more := len(of) - shownResources; more > 0 {
			of = append(of[:shownResources], fmt.Sprintf("%d more", more))
		}
		text += fmt.Sprintf("\nnot judged, of resources (in so many runs): %s: %s", why, strings.Join(of, ", "))
	}
	h.t.Log(text)
}

// present reports a failure after shrinking it, keeps it, and returns the run that it shows.
func (h *hunt) present(r report) *report {
	h.t.Helper()
	small, whole := r, true
	if *flagShrink > 0 && !*flagNoFork && r.Kept == "" {
		small, whole = h.shrink(r)
	}
	path, err := keep(h.t.Name(), small)
	if err != nil {
		h.t.Error(err)
	}
	text := fmt.Sprintf("seed %d failed after %s", r.Seed, extent(r))
	if small.Hash != r.Hash {
		text += "; shown is a smaller run that fails alike, "
		if small.Seed != r.Seed {
			text += fmt.Sprintf("of seed %d, ", small.Seed)
		}
		text += "after " + extent(small)
	}
	text += ":"
	if len(small.Log) > 0 {
		text += "\n" + indent(small.Log)
	}
	if small.Value != nil {
		text += fmt.Sprintf("\nThe value was %s", small.Value)
	}
	if small.Stop != "" {
		text += "\n" + small.Stop + " (-artifacts keeps where each goroutine was)"
	}
	for i, one := range small.Violations {
		if i == shownViolations {
			text += fmt.Sprintf("\nand %d more guarantees that were broken", len(small.Violations)-i)
			break
		}
		text += fmt.Sprintf("\nThe API servers broke a guarantee of %s:\n%s", one.Resource, indent([]string{one.Text}))
	}
	if len(small.Violations) == 0 && small.Stop == "" {
		text += "\nThe API servers kept all guarantees of list and watch."
	}
	text += fmt.Sprintf("\nHistories and what explains them count time from the boot on; faults and requests from the beginning of the run, %v later.", small.Began.Round(time.Millisecond))
	switch {
	case r.Kept != "" && r.Faults == 0:
		text += "\nIt was kept before, without faults."
	case r.Kept != "":
		text += "\nIt was kept before, with these faults:\n" + indent([]string{faultsOf(small)})
	case r.Faults == 0:
		text += "\nIt needs no faults."
	case small.Faults == 0:
		text += fmt.Sprintf("\nIt needs none of the %d faults of the seed.", r.Faults)
	case small.Faults < r.Faults:
		text += fmt.Sprintf("\nIt needs %d of the %d faults of the seed:\n", small.Faults, r.Faults) + indent([]string{faultsOf(small)})
	default:
		text += "\nThe faults:\n" + indent([]string{faultsOf(small)})
	}
	if small.PlainLists {
		text += fmt.Sprintf("\nInformers began with plain lists, which may be old, as they do for half of the seeds (%s=true has none).", gateVariable)
	}
	if h.unlike != nil {
		text += "\n" + h.unlike.Error() + "."
	} else if !whole {
		text += fmt.Sprintf("\nWhether it needs all of them was not found out within -simtest.shrink %v.", *flagShrink)
	}
	h.artifact(small.Seed, "stacks.txt", small.Stacks)
	h.artifact(small.Seed, "log.txt", small.Output)
	for resource, history := range small.Histories {
		h.artifact(small.Seed, resource+".jsonl", history)
	}
	if len(small.Requests) == maxRequests {
		text += fmt.Sprintf("\nThe run made more requests than the %d that are kept for people.", maxRequests)
	}
	if len(small.Requests) > 0 {
		h.artifact(small.Seed, "requests.txt", strings.Join(small.Requests, "\n")+"\n")
		programs := slices.DeleteFunc(small.Requests, func(line string) bool {
			return strings.Contains(line, ": "+testClient+" ")
		})
		if last := programs[max(0, len(programs)-shownRequests):]; len(last) > 0 {
			text += fmt.Sprintf("\nThe last of %d requests of the programs (-artifacts keeps all of them):\n", len(programs)) + indent(last)
		}
	}
	text += fmt.Sprintf("\nIt is kept in %s. Run it again:\n    ", path)
	if again := os.Getenv(againVariable); again != "" && small.Value == nil {
		text += fmt.Sprintf("%s --seed %d", again, r.Seed)
		if *flagFaults != "" {
			text += " --faults " + *flagFaults // or the seed draws other ones
		}
	} else {
		text += "go test"
		if isolate.Raced {
			text += " -race"
		}
		text += fmt.Sprintf(" -run '%s'", isolate.Exactly(h.t.Name()))
		if small.Value == nil {
			text += fmt.Sprintf(" -simtest.seed=%d", r.Seed) // what was kept runs without it, and has the value
		}
		if *flagFaults != "" {
			text += " -simtest.faults=" + *flagFaults
		}
	}
	h.t.Error(text)
	return &small
}

// extent says how long a run took, and its hash.
func extent(r report) string {
	return fmt.Sprintf("%v of simulated time (hash %016x)", r.Simulated.Round(time.Millisecond), r.Hash)
}

// againVariable is the environment variable with the command that runs seeds of this test, if that
// is not `go test`: simrun sets it.
const againVariable = "WATCHSIM_SIMTEST_AGAIN"

// artifact writes a file that `go test -artifacts` keeps.
func (h *hunt) artifact(seed uint64, what, content string) {
	if content == "" {
		return
	}
	file := filepath.Join(h.t.ArtifactDir(), fmt.Sprintf("seed-%d-%s", seed, what))
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		h.t.Error(err)
	}
}

// How many requests, broken guarantees and resources a report shows at most.
const (
	shownRequests   = 10
	shownViolations = 3
	shownResources  = 4
)

// faultsOf returns the faults of a run, with times on the clock of its requests.
func faultsOf(r report) string {
	plan, err := faults.Parse(r.Plan)
	if err != nil {
		return r.Plan
	}
	later := r.Injected.Round(time.Millisecond)
	for i := range plan {
		plan[i].At += later
		if plan[i].Point != "" {
			plan[i].Until += later
		}
	}
	return withoutHeader(plan.String())
}

func withoutHeader(plan string) string {
	_, lines, _ := strings.Cut(plan, planHeader)
	_, lines, _ = strings.Cut(lines, "\n")
	return lines
}

func indent(lines []string) string {
	text := strings.TrimRight(strings.Join(lines, "\n"), "\n")
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
