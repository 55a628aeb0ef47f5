package simrun

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/selfbuild"
	"github.com/watchsim/watchsim/sim/overlay"
)

// inProcess returns simrun's output in this process, for commands that do not simulate.
func inProcess(t *testing.T, arguments ...string) string {
	t.Helper()
	code, stdout, stderr := runHere(arguments...)
	require.Zero(t, code, stderr)
	return stdout
}

// runHere is [simrun] in this process.
func runHere(arguments ...string) (code int, stdout, stderr string) {
	var out, notes strings.Builder
	code = run(arguments, strings.NewReader(""), &out, &notes)
	return code, out.String(), notes.String()
}

// Every command has valid examples, and flags that say what they take.
func TestEveryCommandExplainsItself(t *testing.T) {
	seen := 0
	for _, command := range append(rootCommand(nil).Commands(), rootCommand(nil)) {
		if command.Hidden || command.Name() == "help" || command.Name() == "completion" {
			continue
		}
		seen++
		require.NotEmpty(t, command.Short, command.Name())
		require.NotEmpty(t, command.Example, command.Name())
		require.Contains(t, command.Example, strings.TrimSpace("simrun "+strings.TrimPrefix(command.Name(), "simrun")))
		for line := range strings.Lines(strings.ReplaceAll(command.Example, "\\\n", " ")) {
			line, _, _ = strings.Cut(strings.Split(line, " | ")[0], "#")
			words := strings.Fields(line)
			require.Equal(t, "simrun", words[0], line)
			found, rest, err := rootCommand(nil).Find(words[1:])
			require.NoError(t, err, line)
			require.NoError(t, found.ParseFlags(rest), line)
			require.NoError(t, found.ValidateArgs(found.Flags().Args()), line)
		}
		command.Flags().VisitAll(func(flag *pflag.Flag) {
			takes, _ := pflag.UnquoteUsage(flag)
			require.NotContains(t, takes, " ", "%s --%s", command.Name(), flag.Name)
			require.Equal(t, flag.Name == "out", flag.Shorthand == "o", "%s --%s", command.Name(), flag.Name)
		})
	}
	require.Greater(t, seen, 15)
}

func TestNamesAreCompleted(t *testing.T) {
	for words, names := range map[string][]string{
		"--scenario":          {"minute", "storm"},
		"--target":            {"cacher", "etcd-3.5"},
		"--mutant":            {"canary", "A01"},
		"--faults":            {"none", "compaction"},
		"explore --strategy":  {"pct", "branch"},
		"shrink --guarantee":  {"Reliable", "Completed"},
		"campaign --scenario": {"minute"},
		"verify --scenario":   {"minute"},
		"explore --scenario":  {"minute"},
		"kinds":               {"etcd-crash"},
	} {
		choices := inProcess(t, append(append([]string{cobra.ShellCompNoDescRequestCmd}, strings.Fields(words)...), "")...)
		for _, name := range names {
			require.Contains(t, strings.Split(choices, "\n"), name, words)
		}
	}
}

func TestVersionSaysWhatARunDependsOn(t *testing.T) {
	says := inProcess(t, "version")
	for _, what := range []string{"commit ", "go1.26", "k8s.io/apiserver ", "go.etcd.io/etcd/server/v3 ", overlay.Hash()} {
		require.Contains(t, says, what)
	}
}

// A plan can be written from the output of kinds.
func TestKindsSayWhatTheirParametersAre(t *testing.T) {
	all := inProcess(t, "kinds")
	for _, kind := range faults.Kinds() {
		one := inProcess(t, "kinds", kind.Name)
		require.Contains(t, all, one)
		for _, parameter := range kind.Parameters {
			require.Contains(t, one, " "+parameter.Name+"=")
			require.Regexp(t, `(?m)^ +`+parameter.Name+` +`+parameter.Expects+`$`, one)
		}
	}
	for _, point := range faults.Points() {
		require.Contains(t, all, "\n"+point.Name+"\n")
	}
	plan, err := faults.Parse(strings.TrimSpace(examplePlan))
	require.NoError(t, err)
	require.Len(t, plan, 3)
	require.Contains(t, all, plan[0].String())
}

// A report has the violation in a sentence, and everything if verbose. The folder has everything.
func TestAReportIsShortUnlessItIsAskedFor(t *testing.T) {
	folder := failing(t)
	verdict := verdictIn(t, folder)
	_, brief, _ := simrun(t, "replay", folder)
	_, verbose, _ := simrun(t, "replay", "-v", folder)
	require.True(t, strings.HasPrefix(verdict.Violations[0].Sentence, strings.TrimSpace(strings.Split(brief, "\n")[1])), brief)
	for _, says := range []string{"in it: ", "  faults:\n", "decisions\n"} {
		require.NotContains(t, brief, says)
		require.Contains(t, verbose, says)
		require.Contains(t, content(t, folder, "report.txt"), says)
	}
	require.Less(t, strings.Count(brief, "\n"), strings.Count(verbose, "\n"))
}

// A plan without a fault means no faults, not a drawn plan.
func TestAnEmptyPlanMeansNoFaults(t *testing.T) {
	none := verdictIn(t, recordRun(t, "--faults", "none"))
	for name, text := range map[string]string{"nothing": "", "header": faults.Plan{}.String()} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.Equal(t, none.Hash, verdictIn(t, recordRun(t, "--faults", path)).Hash, name)
	}
	spec, err := scenario.Named("minute")
	require.NoError(t, err)
	empty := spec
	empty.Kinds = []string{}
	require.NotEqual(t, spec.Name(), empty.Name())
}

// Colour is only for terminals, and for those who want it.
func TestColorIsForTerminals(t *testing.T) {
	const report = "FAILED  seed 7\n  something was lost\n\n   >> here\n"
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	defer ptmx.Close()
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	require.Equal(t, "\x1b[1;31mFAILED\x1b[0m  seed 7\n\x1b[1m  something was lost\n\x1b[0m\n   \x1b[31m>>\x1b[0m here\n", paint(ptmx, report))
	require.Equal(t, `red/\u001b[2J`, paint(ptmx, "red/\x1b[2J"), "a name gives the terminal no orders")
	require.Equal(t, report, paint(&strings.Builder{}, report))
	t.Setenv("NO_COLOR", "1")
	require.Equal(t, report, paint(ptmx, report))
}

func TestABuildSaysHowFarItIs(t *testing.T) {
	var notes strings.Builder
	binary, err := built(&notes, "a bug", func(progress selfbuild.Progress) (string, error) { return "b", nil })
	require.NoError(t, err)
	require.Equal(t, "b", binary)
	require.Empty(t, notes.String(), "there is nothing to compile")
	_, err = built(&notes, "a bug", func(progress selfbuild.Progress) (string, error) {
		progress("example.com/a")
		return "b", nil
	})
	require.NoError(t, err)
	require.Contains(t, notes.String(), "simrun: building a bug; that takes up to ten minutes the first time")
}

// simrun removes the temporary folders of a killed one, and nothing else.
func TestFoldersOfAKilledSimrunAreSwept(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	old := time.Now().Add(-2 * sweepAge)
	used, err := newScratch("used")
	require.NoError(t, err)
	defer used.remove()
	stays := []string{filepath.Base(used.path), "watchsim-simrun-young", "watchsim-bench-1", "another"}
	const goes = "watchsim-simrun-explain-1"
	for _, name := range append(stays, goes) {
		path := filepath.Join(temporary, name)
		require.NoError(t, os.MkdirAll(filepath.Join(path, "run"), 0o700))
		if name != "watchsim-simrun-young" {
			require.NoError(t, os.Chtimes(path, old, old))
		}
	}
	inProcess(t, "version")
	for _, name := range stays {
		require.DirExists(t, filepath.Join(temporary, name))
	}
	require.NoDirExists(t, filepath.Join(temporary, goes))
}

// specOf returns the output of `simrun spec` for some flags.
func specOf(t *testing.T, flags ...string) (spec scenario.Spec) {
	t.Helper()
	require.NoError(t, json.NewDecoder(strings.NewReader(inProcess(t, append([]string{"spec"}, flags...)...))).Decode(&spec))
	return spec
}

// A hunt gets its specs from simrun, so that it takes every flag that a run does.
func TestTheRunsOfEveryMutantAreKnown(t *testing.T) {
	for _, m := range mutant.All() {
		flags := m.Hunt
		if m.Target != "" {
			flags = append([]string{"--target", m.Target}, flags...)
		}
		require.Zero(t, specOf(t, flags...).Seed, m.Name)
	}
	spec := specOf(t, "--scenario", "pair", "--faults", "reset,partition", "--etcd-members", "3", "--operations", "77", "--duration", "90s", "--target", "kubernetes")
	require.Equal(t, "pair", spec.Scenario)
	require.Equal(t, []string{"reset", "partition"}, spec.Kinds)
	require.True(t, spec.Every)
	require.Equal(t, []int{3, 77, 90}, []int{spec.Members, spec.Operations, int(spec.Duration.Seconds())})
	require.Equal(t, "kubernetes", spec.Target)
}
