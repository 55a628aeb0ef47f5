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

	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/traces/packed"
)

// record runs a few seeds with a bug and returns the folders of those that failed.
// All are written by one worker, so that each replay has another past than what it
// repeats.
func record(ctx context.Context, o options, m mutant.Mutant, out string) ([]string, error) {
	if len(m.Hunt) == 0 {
		return nil, nil
	}
	arguments := append([]string{}, m.Hunt...)
	if m.Target != "" {
		arguments = append(arguments, "--target", m.Target)
	}
	arguments = append(arguments, "--seeds", fmt.Sprintf("1-%d", o.seeds), "--workers", "1", "--keep-all", "--json", "--out", out)
	if _, err := simrun(ctx, o.binary, m.Name, arguments...); err != nil {
		return nil, err
	}
	verdicts, err := filepath.Glob(filepath.Join(out, "*", "verdict.json"))
	if err != nil {
		return nil, err
	}
	var failed []string
	for _, path := range verdicts {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var verdict struct {
			Outcome string `json:"verdict"`
		}
		if err := json.Unmarshal(text, &verdict); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		// A run that killed its worker before it began has no tape.
		if _, err := packed.Find(filepath.Join(filepath.Dir(path), "tape.bin")); verdict.Outcome == "failed" && err == nil {
			failed = append(failed, filepath.Dir(path))
		}
	}
	return failed, nil
}

// simrun runs simrun with a bug on, and returns what it printed. That it found
// something is no error.
func simrun(ctx context.Context, binary, on string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, binary, arguments...)
	command.Env = append(os.Environ(), mutant.Variable+"="+on)
	var complaint strings.Builder
	command.Stderr = &complaint
	said, err := command.Output()
	var exited *exec.ExitError
	if errors.As(err, &exited) && exited.ExitCode() != 2 {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(arguments, " "), err, complaint.String())
	}
	return string(said), err
}
