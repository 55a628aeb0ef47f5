package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/traces"
)

const (
	replaySeeds   = 12 // per mutant
	replaysPerBug = 5  // at most
)

// replayAll records failures of many mutants with simrun, and replays each in a process of its own,
// which must have the same hash.
func (h *hunter) replayAll(ctx context.Context, chosen []mutant.Mutant) error {
	binary, err := h.build()
	if err != nil {
		return err
	}
	recorded, different := 0, 0
	for _, m := range chosen {
		if recorded == h.options.replays {
			break
		}
		n, bad, err := h.replayOne(ctx, binary, m, min(replaysPerBug, h.options.replays-recorded))
		if err != nil {
			return fmt.Errorf("replaying failures of %s: %w", m.Name, err)
		}
		recorded, different = recorded+n, different+bad
	}
	fmt.Fprintf(h.stdout, "%d failures, %d with another hash\n", recorded, different)
	if different > 0 {
		return fmt.Errorf("expected each replay to have the hash of its failure, found %d of %d that have not", different, recorded)
	}
	if recorded < h.options.replays {
		return fmt.Errorf("expected %d failures to replay, found %d", h.options.replays, recorded)
	}
	return nil
}

// replayOne records and replays up to limit failures of a mutant. One worker records them all, so
// that no replay has the same past as its recording.
func (h *hunter) replayOne(ctx context.Context, binary string, m mutant.Mutant, limit int) (recorded, different int, err error) {
	if len(m.Hunt) == 0 {
		return 0, 0, nil
	}
	out, err := os.MkdirTemp("", "watchsim-replays-")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(out)
	arguments := append([]string{"--seeds", fmt.Sprintf("1-%d", replaySeeds), "--workers", "1", "--keep-all", "--json", "--out", out}, m.Hunt...)
	if m.Target != "" {
		arguments = append(arguments, "--target", m.Target)
	}
	if _, err := simrunWith(ctx, binary, m.Name, arguments...); err != nil {
		return 0, 0, err
	}
	verdicts, err := filepath.Glob(filepath.Join(out, "*", "verdict.json"))
	if err != nil {
		return 0, 0, err
	}
	for _, path := range verdicts {
		folder := filepath.Dir(path)
		failed, err := failedWithTape(folder)
		if err != nil {
			return recorded, different, err
		}
		if !failed || recorded == limit {
			continue
		}
		text, err := simrunWith(ctx, binary, m.Name, "replay", folder)
		if err != nil {
			return recorded, different, err
		}
		recorded++
		// A run that killed its worker has no hash.
		if !strings.Contains(text, "the hash agrees: ") && !strings.Contains(text, "the process died after the same decisions ") {
			different++
			fmt.Fprintf(h.stdout, "%-24s %s replays with another hash\n", m.Name, filepath.Base(folder))
		}
	}
	if recorded > 0 {
		fmt.Fprintf(h.stdout, "%-24s %d of %d failures replay with the same hash\n", m.Name, recorded-different, recorded)
	}
	return recorded, different, nil
}

// failedWithTape reports whether a run failed. One that killed its worker before it began has no
// tape, and cannot be replayed.
func failedWithTape(folder string) (bool, error) {
	text, err := os.ReadFile(filepath.Join(folder, "verdict.json"))
	if err != nil {
		return false, err
	}
	var found scenario.Verdict
	if err := json.Unmarshal(text, &found); err != nil {
		return false, fmt.Errorf("%s: %w", folder, err)
	}
	_, err = traces.FindFile(filepath.Join(folder, "tape.bin"))
	return found.Outcome == linearizability.Failed && err == nil, nil
}

// simrunWith runs simrun with a mutant on and returns its output. A failing seed is not an error.
func simrunWith(ctx context.Context, binary, on string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, binary, arguments...)
	command.Env = append(os.Environ(), mutant.Variable+"="+on)
	var stderr strings.Builder
	command.Stderr = &stderr
	stdout, err := command.Output()
	exited, is := errors.AsType[*exec.ExitError](err)
	if err != nil && (!is || exited.ExitCode() == 2) {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(arguments, " "), err, stderr.String())
	}
	return string(stdout), nil
}
