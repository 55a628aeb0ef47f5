package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/selfbuild"
)

// planeTest is the test of module controlplane in which users do anything, as mutants of the
// control plane are hunted in.
const planeTest = "TestAny"

// planeAll hunts mutants of the control plane. A trial is a run of the test with the seeds that it
// has left, until one fails that passes without the mutant.
func (h *hunter) planeAll(ctx context.Context, chosen []mutant.Mutant) (lost []string, err error) {
	fmt.Fprintln(h.stdout, "building the control plane with all mutants inside; minutes the first time")
	all, err := h.options.fitting(mutant.ControlPlane(), io.Discard)
	if err != nil {
		return nil, err
	}
	binary, err := selfbuild.BuildTests(nil, "controlplane", h.options.use, all)
	if err != nil {
		return nil, err
	}
	if h.options.together {
		if err := h.planeTogether(ctx, binary, chosen); err != nil {
			return nil, err
		}
	}
	for _, m := range chosen {
		for trial := range h.options.trials {
			if trial < len(h.results.trials(m)) {
				continue
			}
			r, err := h.planeTrial(ctx, binary, m, trial+1)
			if err == nil {
				err = h.results.add(r)
			}
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(h.stdout, "%s, trial %d: %s\n", m.Name, r.Trial, planeVerdict(r))
		}
	}
	if h.options.table != "" {
		text := fmt.Sprintf(planeHead, h.options.time) + planeTable(chosen, h.results.all)
		if err := os.WriteFile(h.options.table, []byte(text), 0o644); err != nil {
			return nil, fmt.Errorf("--table: %w", err)
		}
	}
	found := 0
	for _, m := range chosen {
		if slices.ContainsFunc(h.results.trials(m), func(r result) bool { return r.Found > 0 }) {
			found++
		}
	}
	fmt.Fprintf(h.stdout, "%d of %d found\n", found, len(chosen))
	return nil, nil
}

// planeTrial hunts a mutant once.
func (h *hunter) planeTrial(ctx context.Context, binary string, m mutant.Mutant, trial int) (result, error) {
	r := result{Mutant: m.Name, Key: keyOf(m), Trial: trial, Budget: h.options.seeds, First: uint64(1 + (trial-1)*h.options.seeds)}
	began := time.Now()
	for next := r.First; next < r.First+uint64(h.options.seeds); {
		left := h.options.time - time.Duration(r.Seconds*float64(time.Second))
		if left <= 0 {
			break
		}
		ran, err := h.planeRun(ctx, binary, m.Name, next, r.First+uint64(h.options.seeds)-1, left)
		if err != nil {
			return r, err
		}
		r.Seconds += ran.seconds
		r.Seeds += ran.seeds
		if ran.failed == 0 {
			break
		}
		without, err := h.planeRun(ctx, binary, "", ran.failed, ran.failed, left)
		if err != nil {
			return r, err
		}
		if without.failed == 0 {
			r.Found, r.Witness = ran.failed, ran.witness
			break
		}
		r.Unconfirmed = append(r.Unconfirmed, ran.failed)
		next = ran.failed + 1
	}
	r.Wall = time.Since(began).Seconds()
	return r, nil
}

// planeOutcome is what a run of the test came to.
type planeOutcome struct {
	failed  uint64 // 0 for none
	seeds   int    // with the one that failed
	witness string
	seconds float64 // of processor time
}

// planeReport is what is read of the file that a test of simtest writes with -simtest.report.
type planeReport struct {
	Passed  int `json:"passed"`
	Failure *struct {
		Seed       uint64   `json:"seed"`
		Log        []string `json:"log"`
		Stop       string   `json:"stop"`
		Violations []struct {
			Text string `json:"text"`
		} `json:"violations"`
	} `json:"failure"`
}

// witness is the first line of why a run failed: a guarantee that was broken, or else what the run logged last.
func (r *planeReport) witness() string {
	text := r.Failure.Stop
	if log := r.Failure.Log; len(log) > 0 {
		text = log[len(log)-1]
	}
	if broken := r.Failure.Violations; len(broken) > 0 {
		text = broken[0].Text
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// planeRun runs seeds with a mutant until one fails, or processor time is used up.
func (h *hunter) planeRun(ctx context.Context, binary, name string, first, last uint64, most time.Duration) (planeOutcome, error) {
	dir, err := os.MkdirTemp("", "hunt-plane-")
	if err != nil {
		return planeOutcome{}, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "report.json")
	command := exec.CommandContext(ctx, binary, "-test.run=^"+planeTest+"$", "-test.timeout=0", "-simtest.shrink=0", "-simtest.report="+file,
		fmt.Sprintf("-simtest.seeds=%d-%d", first, last), fmt.Sprintf("-simtest.time=%v", most/time.Duration(h.options.jobs)), fmt.Sprintf("-simtest.workers=%d", h.options.jobs))
	command.Dir = dir
	command.Env = append(os.Environ(), mutant.Variable+"="+name)
	out, err := command.CombinedOutput()
	var ended *exec.ExitError
	if ctx.Err() != nil || err != nil && !errors.As(err, &ended) {
		return planeOutcome{}, errors.Join(ctx.Err(), err)
	}
	ran := planeOutcome{seconds: (command.ProcessState.UserTime() + command.ProcessState.SystemTime()).Seconds()}
	var report planeReport
	text, missing := os.ReadFile(file)
	if missing == nil {
		missing = json.Unmarshal(text, &report)
	}
	if missing != nil || (report.Failure != nil) != (err != nil) {
		return ran, fmt.Errorf("expected %s of %s to report how many seeds passed and which failed, found:\n%s", planeTest, filepath.Base(binary), out)
	}
	if ran.seeds = report.Passed; report.Failure != nil {
		ran.seeds, ran.failed, ran.witness = ran.seeds+1, report.Failure.Seed, report.witness()
	}
	return ran, nil
}

func planeVerdict(r result) string {
	if r.Found == 0 {
		return fmt.Sprintf("not found in %d seeds, %.0f s", r.Seeds, r.Seconds)
	}
	return fmt.Sprintf("seed %d, after %d seeds and %.0f s: %s", r.Found, r.Seeds, r.Seconds, r.Witness)
}

// planeHead is what stands before the table.
const planeHead = `# Known bugs of the control plane

Each is put back into the released code and hunted with the seeds of scenario any, from the first one on, until a seed fails that
passes without it, or %v of processor time are used up. Somebody looks at what the run says then: one that fails for another
reason, as the bug makes another run of the seed, does not count. "not hunted" says that nobody has tried yet. Written by make controlplane-mutants.

`

// planeTable is a row for each mutant.
func planeTable(all []mutant.Mutant, results []result) string {
	var b strings.Builder
	fmt.Fprintln(&b, "| mutant | what it does | source | seeds until it is found | processor time | what the first failing run says |\n|---|---|---|---|---|---|")
	for _, m := range all {
		var seeds, seconds, witness []string
		for _, r := range trialsOf(results, m) {
			if r.Found == 0 {
				seeds = append(seeds, fmt.Sprintf("not in %d", r.Seeds))
			} else {
				seeds = append(seeds, strconv.Itoa(r.Seeds))
				witness = append(witness, cell(r.Witness))
			}
			seconds = append(seconds, fmt.Sprintf("%.0f s", r.Seconds))
		}
		if len(seeds) == 0 {
			seeds = []string{"not hunted"}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", m.Name, cell(m.Summary), cell(m.Source), strings.Join(seeds, ", "), strings.Join(seconds, ", "), strings.Join(witness[:min(1, len(witness))], ""))
	}
	return b.String()
}
