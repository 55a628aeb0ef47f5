package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/search/mutant"
)

// table renders results as Markdown: the bugs, those not found with the reason, those not hunted
// yet, and the controls.
func table(all []mutant.Mutant, results []result) string {
	var bugs, shown, missed, waiting, controls []string
	tested, silent := 0, 0
	for _, m := range all {
		trials := trialsOf(results, m)
		if suites := suitesOf(results, m); m.Equivalent == "" && m.Source != "" && len(suites) > 0 {
			tested++
			if !slices.ContainsFunc(suites, func(r result) bool { return len(r.Red) > 0 }) {
				silent++
			}
		}
		switch detected, _, _ := detections(trials); {
		case mutant.IsFix(m.Name):
		case m.Equivalent != "":
			controls = append(controls, controlRow(m, trials))
		case len(trials) == 0:
			waiting = append(waiting, fmt.Sprintf("| %s | %s | %s | %s | %s |\n", m.Name, halfOf(m), cell(m.Summary), cell(m.Source), command(m)))
		case m.Source == "":
			shown = append(shown, bugRow(m, trials, results))
		case len(detected) > 0:
			bugs = append(bugs, bugRow(m, trials, results))
		default:
			missed = append(missed, missedRow(m, trials))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, preface, len(bugs)+len(missed), len(bugs), len(waiting), silent, tested,
		strings.ReplaceAll(strings.TrimSpace(sharesOf(all, results)), "\n", "\n    "))
	section := func(title, head string, rows []string) {
		if len(rows) > 0 {
			columns := strings.Count(head, "|") - 1
			fmt.Fprintf(&b, "\n## %s\n\n%s\n|%s\n%s", title, head, strings.Repeat("---|", columns), strings.Join(rows, ""))
		}
	}
	bugHead := "| bug | half | known from | what goes wrong | edit | broken | one command | found | seeds: median, p95 | processor time, median | its package's own tests |"
	section("Found", bugHead, bugs)
	section("Not found", "| bug | half | what goes wrong | known from | why not |", missed)
	section("Not hunted yet", "| bug | half | what goes wrong | known from | one command |", waiting)
	section("Guarantees shown broken", bugHead, shown)
	section("Controls: edits that are no bug", "| control | edit | why it is no bug | seeds | failures |", controls)
	return b.String()
}

const preface = `# Track record

Known bugs, each reintroduced by an edit of a few lines and hunted by simulation: %d hunted, %d found,
and %d not hunted yet. A detection counts if the same seed passes without the edit. Findings 1, 2, 5 and 6 of
[findings](findings/README.md) are fixed in these runs: with the edit a seed is another run, in which a bug of the
release itself could be mistaken for the reintroduced one. Each trial has its own seeds; seeds and time count until the
detection. Any change of the source turns seeds into other runs, so a number says how soon a bug is found, not by which
seed. Processor time is that of all processes of a trial, with one worker. "(never ends)" is a run that exhausts its
simulated time, which simrun reports as inconclusive. The last column lists the edited package's own tests, run as
its authors run them, that fail with the edit, fail again when repeated, and pass without it. They miss %d of the %d
bugs for which they were run.

Every third bug, by a hash of its name, is held out: the scenario ` + "`any`" + ` and the rules are not tuned on it, so that this
group estimates the detection of unknown bugs. Other scenarios were made for bugs of either group. The medians are those of
the medians of all bugs found.

    %s

` + "`make mutants`" + ` hunts all bugs and writes this page; ` + "`make mutants-ci`" + ` hunts some within a budget and fails when
one is not found. The edits are in search/mutant.
`

func bugRow(m mutant.Mutant, trials, results []result) string {
	seeds, seconds, _ := detections(trials)
	var broken []string
	for _, r := range trials {
		broken = append(broken, r.Guarantees...)
	}
	slices.Sort(broken)
	broken = slices.Compact(broken)
	measured, spent := "–", "–"
	if len(seeds) > 0 {
		measured = fmt.Sprintf("%.0f, %.0f", quantile(seeds, 0.5), quantile(seeds, 0.95))
		spent = fmt.Sprintf("%.1f s", quantile(seconds, 0.5))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | `%s` | %s | %s | %d of %d | %s | %s | %s |\n",
		m.Name, halfOf(m), cell(m.Source), cell(m.Summary), files(m), strings.Join(broken, ", "), command(m), len(seeds), len(trials), measured, spent, suiteCell(m, results))
}

func missedRow(m mutant.Mutant, trials []result) string {
	_, _, seeds := detections(trials)
	why := "not found yet"
	if withoutEffect(trials) {
		why = noEffect
	}
	why = cmp.Or(m.Unseen, why)
	return fmt.Sprintf("| %s | %s | %s | %s | %s; %d seeds of %s |\n", m.Name, halfOf(m), cell(m.Summary), cell(m.Source), cell(why), seeds, command(m))
}

func controlRow(m mutant.Mutant, trials []result) string {
	failures, _, seeds := detections(trials)
	return fmt.Sprintf("| %s | %s | %s | %d | %d |\n", m.Name, cell(m.Summary), cell(m.Equivalent), seeds, len(failures))
}

// files returns the files that a mutant edits, each once.
func files(m mutant.Mutant) string {
	var names []string
	for _, p := range m.Patches() {
		if !slices.Contains(names, p.File) {
			names = append(names, p.File)
		}
	}
	return strings.Join(names, "`, `")
}

// command is the command that shows the bug.
func command(m mutant.Mutant) string {
	return fmt.Sprintf("`simrun --mutant %s %s --seeds 1-5000`", m.Name, strings.Join(m.Hunt, " "))
}

func suiteCell(m mutant.Mutant, results []result) string {
	suites := suitesOf(results, m)
	switch {
	case len(suites) == 0:
		return "–"
	case len(suites[0].Red) == 0:
		return "silent"
	case len(suites[0].Red) > 2:
		return fmt.Sprintf("%s and %d more", suites[0].Red[0], len(suites[0].Red)-1)
	}
	return strings.Join(suites[0].Red, ", ")
}

// cell escapes text for a table cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

// quantile returns the smallest value that is not below a share q of the values.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}
