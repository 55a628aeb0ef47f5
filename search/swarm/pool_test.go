package swarm

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
)

// scriptedWorker writes a program that acts as a worker: it answers each job with its process ID as
// the report. Its environment can make it die, or never answer.
func scriptedWorker(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "worker")
	require.NoError(t, os.WriteFile(path, []byte(`#!/bin/sh
while read job; do
	case "$BE" in dead) exit 1;; silent) exec sleep 60;; esac
	echo "{\"answer\": {\"report\": \"$$\"}}"
done
`), 0o700))
	return path
}

func TestPoolReusesWorkersOfAKind(t *testing.T) {
	limits := DefaultLimits().WithWorkers(2)
	pool := NewPool(scriptedWorker(t), limits)
	defer pool.Close()
	do := func(job Job) (pid string) {
		answer, err := pool.Do(t.Context(), job)
		require.NoError(t, err)
		require.Empty(t, answer.Notes)
		return answer.Report
	}
	plain, other := Job{}, Job{Environment: "BE=other"}
	template := Job{Spec: scenario.Spec{Scenario: "minute", Members: 3}}
	first := do(plain)
	require.Equal(t, first, do(plain), "the worker is idle")
	second := do(other)
	require.NotEqual(t, first, second, "a worker's environment is its own")
	require.Equal(t, first, do(plain))
	require.Equal(t, second, do(other))

	inPlace := do(Job{InPlace: true})
	require.NotContains(t, []string{first, second}, inPlace)
	require.Equal(t, first, do(plain), "a run in place has a worker of its own, which ends with it")

	third := do(template)
	require.NotContains(t, []string{first, second}, third, "nor does one with another template do")
	require.Equal(t, third, do(template))
	require.Equal(t, first, do(plain))
	require.Equal(t, second, do(other), "there is room for it")
	for members := range idlePerSlot * limits.Workers {
		do(Job{Spec: scenario.Spec{Scenario: "minute", Members: 10 + members}})
	}
	require.NotEqual(t, second, do(other), "no more are kept, and this one had been idle for longest")
}

func TestPoolReplacesADeadWorkerOnce(t *testing.T) {
	pool := NewPool(scriptedWorker(t), DefaultLimits())
	defer pool.Close()
	answer, err := pool.Do(t.Context(), Job{Environment: "BE=dead"})
	require.ErrorIs(t, err, ErrDied)
	require.Len(t, answer.Notes, 1)
	require.Contains(t, answer.Notes[0], "it is run again")
}

// TestPoolEndsWithItsContext: while a job is done, and while one waits for a slot.
func TestPoolEndsWithItsContext(t *testing.T) {
	pool := NewPool(scriptedWorker(t), DefaultLimits().WithWorkers(1))
	defer pool.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	errs := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := pool.Do(ctx, Job{Environment: "BE=silent"})
			errs <- err
		}()
	}
	for range 2 {
		require.ErrorIs(t, <-errs, context.DeadlineExceeded)
	}
}
