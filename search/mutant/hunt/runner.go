package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/swarm"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/fork"
)

// runner runs a seed with a mutant switched on, or with none if the name is "". It returns the
// verdict and the processor time.
type runner func(ctx context.Context, on string, spec scenario.Spec) (verdict, time.Duration, error)

// fixes are switched on in released code with bugs of its own while others are hunted in it. An
// edit makes a seed another run, in which those bugs may show although the seed passes without the
// edit. Finding 3 is rare, and fixing it would hide expired-retry.
var fixes = map[string][]string{
	"kubernetes": ofCaches,
	"cacher":     {"fix-etcd-client"},
	"http":       ofCaches,
	// All, as finding 26 for one looks like the oldest of the known bugs, except one that runs do not reach.
	"controlplane": slices.Concat(ofCaches, namesOf(slices.DeleteFunc(mutant.ControlPlane(), func(m mutant.Mutant) bool {
		return !mutant.IsFix(m.Name) || m.Name == "fix-finding-35"
	}))),
}

// ofCaches are the fixes of Kubernetes' cache, its etcd client and its handlers.
var ofCaches = []string{"fix-finding-1", "fix-etcd-client", "fix-finding-8"}

// switches lists what is on in a worker that runs a target: a mutant or none, and the fixes.
func switches(on, target string) string {
	if mutant.IsFix(on) {
		return on
	}
	names := fixes[target]
	if on != "" {
		names = append([]string{on}, names...)
	}
	return strings.Join(names, ",")
}

// environment is the variable that switches a mutant on in a worker.
func environment(on, target string) string { return mutant.Variable + "=" + switches(on, target) }

// runsIn returns a runner that uses the workers of a pool.
func runsIn(pool *swarm.Pool) runner {
	return func(ctx context.Context, on string, spec scenario.Spec) (verdict, time.Duration, error) {
		answer, err := pool.Do(ctx, swarm.Job{Spec: spec, Environment: environment(on, spec.Target)})
		if errors.Is(err, swarm.ErrDied) && ctx.Err() == nil {
			return verdict{Verdict: swarm.Dead(spec, err)}, 0, nil
		}
		v := verdict{Verdict: answer.Verdict}
		if answer.Explored != nil {
			v.steps = answer.Explored.Steps
		}
		return v, answer.Processor, err
	}
}

// asked returns a function that asks simrun for the spec of the runs that a mutant is hunted in,
// without a seed: so all flags of simrun work, with their usual meaning.
func asked(binary string) func(ctx context.Context, m mutant.Mutant) (scenario.Spec, error) {
	return func(ctx context.Context, m mutant.Mutant) (spec scenario.Spec, err error) {
		flags := append([]string{"spec"}, m.Hunt...)
		if m.Target != "" {
			flags = append(flags, "--target", m.Target)
		}
		command := exec.CommandContext(ctx, binary, flags...)
		var stderr strings.Builder
		command.Stderr = &stderr
		printed, err := command.Output()
		if err != nil {
			says := strings.TrimPrefix(strings.TrimSpace(stderr.String()), "simrun: ")
			return spec, fmt.Errorf("the runs of %s, `%s`: %s", m.Name, strings.Join(m.Hunt, " "), cmp.Or(says, err.Error()))
		}
		if err := json.Unmarshal(printed, &spec); err != nil {
			return spec, err
		}
		if _, isRelease := target.FindRelease(spec.Target); isRelease {
			return spec, fmt.Errorf("the runs of %s: expected a target that mutants are in, found the release %s", m.Name, spec.Target)
		}
		return spec, nil
	}
}

// verdict is a run's verdict as a hunt uses it.
type verdict struct {
	scenario.Verdict
	// steps is how many synchronisation points a search could decide at.
	steps uint64
}

// guarantees returns the guarantees that the run broke, each once.
func (v verdict) guarantees() []string {
	if v.neverEnds() {
		return append([]string{"(never ends)"}, v.Broken()...)
	}
	return v.Broken()
}

// tooSlow reports whether a run was given up because real time ran out, which on a loaded machine
// says nothing about the code.
func (v verdict) tooSlow() bool {
	return len(v.Violations) == 1 && slices.Contains([]string{string(fork.TookTooLong), string(fork.ProcessorTime)}, v.Violations[0].Code)
}

// neverEnds reports whether a run used up its simulated time because a request waits forever.
// simrun calls that inconclusive, as it cannot tell what is to blame. A hunt can, as the same seed
// ends without the bug.
func (v verdict) neverEnds() bool {
	return v.Outcome != linearizability.Failed && slices.ContainsFunc(v.Reasons, func(r linearizability.Reason) bool {
		return r.Code == linearizability.ReasonCode(sim.TimeBudget)
	})
}

// witness returns the first line of what the run found.
func (v verdict) witness() string {
	if len(v.Violations) == 0 {
		return v.Reason
	}
	line, _, _ := strings.Cut(v.Violations[0].Text, "\n")
	return line
}
