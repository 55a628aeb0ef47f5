package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// testedTarget returns the target to hunt in; nil for simrun's own scenarios.
func (o options) testedTarget() *selfbuild.Tested {
	all := selfbuild.AllTested()
	i := slices.IndexFunc(all, func(t selfbuild.Tested) bool { return t.Name == o.target })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// testedAll hunts mutants in tests. A trial runs the test with its remaining seeds, until one fails
// that passes without the mutant. It returns what --probe finds without effect.
func (h *hunter) testedAll(ctx context.Context, t *selfbuild.Tested, chosen []mutant.Mutant) (lost []string, err error) {
	fmt.Fprintln(h.stdout, "building target", t.Name, "with all mutants inside; minutes the first time")
	all, err := h.options.fitting(t.ToChoose(namesOf(chosen)...), h.stdout, true)
	if err != nil {
		return nil, err
	}
	binary, err := selfbuild.BuildTests(nil, t.Tests, h.options.use, all)
	if err != nil {
		return nil, err
	}
	if h.options.probe > 0 {
		return h.testedEffects(ctx, binary, t, chosen)
	}
	if h.options.together {
		if err := h.testedTogether(ctx, binary, t.Test(chosen[0]), chosen); err != nil {
			return nil, err
		}
	}
	for _, m := range chosen {
		for trial := len(h.trials(m)) + 1; trial <= h.options.trials; trial++ {
			r, err := h.testedTrial(ctx, binary, t.Test(m), m, trial)
			if err == nil {
				err = h.note(m, r)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	if h.options.table != "" {
		text := fmt.Sprintf(testedHead, t.Name, h.options.time) + testedTable(chosen, h.results.all)
		if err := os.WriteFile(h.options.table, []byte(text), 0o644); err != nil {
			return nil, fmt.Errorf("--table: %w", err)
		}
	}
	found := 0
	for _, m := range chosen {
		if seeds, _, _ := detections(h.trials(m)); len(seeds) > 0 {
			found++
		}
	}
	fmt.Fprintf(h.stdout, "%d of %d found\n", found, len(chosen))
	return nil, nil
}

// testedTrial hunts a mutant once in a test.
func (h *hunter) testedTrial(ctx context.Context, binary, test string, m mutant.Mutant, trial int) (result, error) {
	r := result{Mutant: m.Name, Key: keyOf(m), Trial: trial, Budget: h.options.seeds, First: uint64(1 + (trial-1)*h.options.seeds)}
	began := time.Now()
	for next := r.First; next < r.First+uint64(h.options.seeds); {
		left := h.options.time - time.Duration(r.Seconds*float64(time.Second))
		if left <= 0 {
			break
		}
		ran, err := h.testedRun(ctx, binary, test, m.Name, next, r.First+uint64(h.options.seeds)-1, left)
		if err != nil {
			return r, err
		}
		r.Seconds += ran.seconds
		r.Seeds += ran.seeds
		if ran.failed == 0 {
			if ran.seeds == 0 {
				break
			}
			next += uint64(ran.seeds) // a busy machine leaves processor time unused
			continue
		}
		without, err := h.testedRun(ctx, binary, test, "", ran.failed, ran.failed, left)
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

// testedOutcome is the result of a run of the test.
type testedOutcome struct {
	failed  uint64 // 0 for none
	seeds   int    // including the failing one
	witness string
	seconds float64           // of processor time
	hashes  map[uint64]string // of the runs, by seed
}

// witnessOf is the first line of why a run failed: a broken guarantee, or else the last line that the run logged.
func witnessOf(failure *selfbuild.Failure) string {
	text := failure.Stop
	if n := len(failure.Log); n > 0 {
		text = failure.Log[n-1]
	}
	if len(failure.Violations) > 0 {
		text = failure.Violations[0].Text
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// notBooted is what a test says if no cluster boots, as with some mutants.
const notBooted = "the cluster did not boot"

// testedRun runs seeds with a mutant until one fails or the processor time, of which 0 is unlimited, is used up.
func (h *hunter) testedRun(ctx context.Context, binary, test, name string, first, last uint64, most time.Duration) (testedOutcome, error) {
	dir, err := os.MkdirTemp("", "hunt-")
	if err != nil {
		return testedOutcome{}, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "report.json")
	command := exec.CommandContext(ctx, binary, "-test.run=^"+test+"$", "-test.timeout=0", "-simtest.shrink=0", "-simtest.report="+file,
		fmt.Sprintf("-simtest.seeds=%d-%d", first, last), fmt.Sprintf("-simtest.time=%v", most/time.Duration(h.options.jobs)), fmt.Sprintf("-simtest.workers=%d", h.options.jobs))
	command.Dir = dir
	command.Env = append(os.Environ(), environment(name, h.options.target))
	out, err := command.CombinedOutput()
	var ended *exec.ExitError
	if ctx.Err() != nil || err != nil && !errors.As(err, &ended) {
		return testedOutcome{}, errors.Join(ctx.Err(), err)
	}
	ran := testedOutcome{seconds: (command.ProcessState.UserTime() + command.ProcessState.SystemTime()).Seconds()}
	report, missing := selfbuild.ReadReport(file)
	if _, why, unbooted := strings.Cut(string(out), notBooted); unbooted && name != "" {
		why, _, _ = strings.Cut(why, "\n")
		return testedOutcome{failed: first, seeds: 1, witness: notBooted + why, seconds: ran.seconds}, nil
	}
	if missing != nil || (report.Failure != nil) != (err != nil) {
		return ran, fmt.Errorf("expected %s of %s to report how many seeds passed and which failed, found:\n%s", test, filepath.Base(binary), out)
	}
	ran.seeds, ran.hashes = report.Passed, map[uint64]string{}
	maps.Copy(ran.hashes, report.Hashes)
	if failure := report.Failure; failure != nil {
		ran.seeds, ran.failed, ran.witness = ran.seeds+1, failure.Seed, witnessOf(failure)
		ran.hashes[failure.Seed] = failure.Hash
	}
	return ran, nil
}

// testedHead precedes the table.
const testedHead = `# Known bugs in target %s

Each bug is put back into the released code and hunted with the seeds of one scenario, from the first one on, until a seed fails that
passes without it, or %v of processor time are used up. The fixes of findings are switched on, as some bugs look like findings. Failures are reviewed by hand: as the bug makes
another run of the seed, it may fail for another reason, which does not count. "not hunted" means that nobody has tried yet. Written by search/mutant/hunt.

`

// testedTable is a row for each mutant.
func testedTable(all []mutant.Mutant, results []result) string {
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
