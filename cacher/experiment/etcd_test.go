package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEtcdEndsWhenItIsStopped(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	etcd, err := startEtcd(t.Context())
	require.NoError(t, err)
	require.DirExists(t, etcd.folder)
	count, err := etcd.watchers(t.Context())
	require.NoError(t, err)
	require.Zero(t, count)
	require.NoError(t, etcd.stop())
	_, err = cpuTime(etcd.pid())
	require.Error(t, err, "the process is gone")
	requireEmpty(t, os.Getenv("TMPDIR"))
}

// TestEtcdThatDiesEndsTheMeasurement: requests to it would be retried for ever.
func TestEtcdThatDiesEndsTheMeasurement(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	etcd, err := startEtcd(t.Context())
	require.NoError(t, err)
	ctx, cancel := etcd.whileItRuns(t.Context())
	defer cancel(nil)
	require.NoError(t, ctx.Err())
	require.NoError(t, etcd.command.Process.Kill())
	select {
	case <-ctx.Done():
		require.ErrorContains(t, context.Cause(ctx), "etcd ended: signal: killed")
	case <-time.After(patience):
		t.Fatal("the context goes on without etcd")
	}
	require.ErrorContains(t, etcd.stop(), "killed")
	requireEmpty(t, os.Getenv("TMPDIR"))
}

// TestEtcdDoesNotOutliveItsParent: a parent that is killed cannot stop it, and all
// that it leaves is the end of its child's input, with nobody to read its output.
func TestEtcdDoesNotOutliveItsParent(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv(beParent, "yes")
	binary, err := os.Executable()
	require.NoError(t, err)
	parent := exec.Command(binary)
	stdout, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	var folder string
	_, err = fmt.Fscan(stdout, &folder)
	require.NoError(t, err)
	require.DirExists(t, folder)
	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())
	require.Eventually(t, func() bool { _, err := os.Stat(folder); return os.IsNotExist(err) }, patience, 10*time.Millisecond,
		"etcd removes its folder when it has ended")
}

func TestEtcdThatCannotStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	t.Setenv("TMPDIR", t.TempDir())
	_, err := startEtcd(ctx)
	require.ErrorIs(t, err, context.Canceled)
	requireEmpty(t, os.Getenv("TMPDIR"))
}

// TestProcessesAreMeasuredApart: another process' work is no CPU time of this one.
func TestProcessesAreMeasuredApart(t *testing.T) {
	busy := exec.Command("sh", "-c", "while :; do :; done")
	require.NoError(t, busy.Start())
	t.Cleanup(func() { busy.Process.Kill(); busy.Wait() })
	before, err := cpuTime(os.Getpid())
	require.NoError(t, err)
	began, err := cpuTime(busy.Process.Pid)
	require.NoError(t, err)
	const worked = 200 * time.Millisecond
	require.Eventually(t, func() bool {
		used, err := cpuTime(busy.Process.Pid)
		return err == nil && used-began > worked
	}, patience, 10*time.Millisecond)
	after, err := cpuTime(os.Getpid())
	require.NoError(t, err)
	require.Less(t, after-before, worked)
	bytes, err := residentBytes(busy.Process.Pid)
	require.NoError(t, err)
	require.Greater(t, bytes, int64(100_000))
	own, err := residentBytes(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, own, 2*bytes, "a shell is smaller than etcd's and Kubernetes' libraries")
}
