package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience bounds every wait of these tests. It is far beyond what they take.
const patience = 2 * time.Minute

// beParent is the environment variable that turns the test binary into a process
// that starts etcd, prints its folder, and stays.
const beParent = "WATCHSIM_EXPERIMENT_TEST_PARENT"

// TestMain lets the test binary be other processes. The command itself can be etcd.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(etcdFolder) != "":
		main()
	case os.Getenv(beParent) != "":
		etcd, err := startEtcd(context.Background())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(etcd.folder)
		select {}
	default:
		os.Exit(m.Run())
	}
}

// TestExperiment measures everything once, with few watches.
func TestExperiment(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	out := filepath.Join(t.TempDir(), "out")
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"-watches", "20", "-rate", "50", "-seconds", "1", "-pods", "3", "-per-connection", "8", "-out", out}, &stdout, &stderr)
	require.Zero(t, code, "%s%s", &stdout, &stderr)
	require.Contains(t, stdout.String(), fmt.Sprintf("all of %d events came, once and in order", len(variants)*20*(3+50)))

	found, err := load(filepath.Join(out, resultsFile))
	require.NoError(t, err)
	require.Len(t, found.Points, len(variants))
	for _, p := range found.Points {
		about := fmt.Sprintf("%s with %d watches", p.Variant, p.Watches)
		held, connections := p.Watches, 1
		switch p.Variant {
		case "cacher", "kubernetes":
			held = 1
		case "etcd-spread":
			connections = (p.Watches + 7) / 8
		}
		require.Equal(t, held, p.EtcdWatchers, about)
		require.Equal(t, connections, p.Connections, about)
		require.Equal(t, delivery{Expected: p.Watches * (3 + 50)}, p.Delivery, about)
		require.Equal(t, 50, p.Writes, about)
		require.Positive(t, p.EtcdCPUSeconds, about)
		require.Positive(t, p.ClientCPUSeconds, about)
		require.Greater(t, p.EtcdResidentBytes, int64(1<<20), about)
		require.Positive(t, p.LatencyP50Millis, about)
		require.LessOrEqual(t, p.LatencyP50Millis, p.LatencyP99Millis, about)
		require.LessOrEqual(t, p.LatencyP99Millis, p.LatencyMaxMillis, about)
		require.GreaterOrEqual(t, p.WriteSeconds, 0.9, about)
	}
	require.FileExists(t, filepath.Join(out, plotFile))
	requireEmpty(t, os.Getenv("TMPDIR"))
	var goroutines bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&goroutines, 1))
	require.NotContains(t, goroutines.String(), "pkg/storage/cacher", "Kubernetes' cache goes on")
	require.NotContains(t, goroutines.String(), "watchsim/cacher.", "this cache goes on")

	var again bytes.Buffer
	redrawn := t.TempDir()
	require.Zero(t, run(t.Context(), []string{"-from", filepath.Join(out, resultsFile), "-out", redrawn}, &again, &stderr))
	for _, name := range []string{resultsFile, plotFile} {
		require.Equal(t, read(t, filepath.Join(out, name)), read(t, filepath.Join(redrawn, name)), name)
	}
}

// interrupting ends a context as soon as a measurement has been announced.
type interrupting struct {
	bytes.Buffer
	cancel context.CancelFunc
	upon   string
}

func (i *interrupting) Write(text []byte) (int, error) {
	if strings.Contains(string(text), i.upon) {
		i.cancel()
	}
	return i.Buffer.Write(text)
}

func TestAnInterruptKeepsWhatWasMeasured(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	out := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stderr := &interrupting{cancel: cancel, upon: "cacher, 2 watches"}
	var stdout bytes.Buffer
	code := run(ctx, []string{"-variants", "cacher", "-watches", "1,2", "-rate", "5", "-seconds", "1", "-out", out}, &stdout, stderr)
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr.String(), "cacher with 2 watches: context canceled")
	require.NotContains(t, stdout.String(), "once and in order", "a run that was interrupted gives no verdict")
	found, err := load(filepath.Join(out, resultsFile))
	require.NoError(t, err)
	require.Len(t, found.Points, 1)
	requireEmpty(t, os.Getenv("TMPDIR"))
}

// TestPatienceEnds: a watch that cannot be opened does not stop the command for
// good.
func TestPatienceEnds(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"-patience", "1ns", "-variants", "etcd-shared", "-watches", "100", "-out", t.TempDir()}, &stdout, &stderr)
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr.String(), "expected each watch to")
	require.Empty(t, stdout.String(), "nothing was measured")
	requireEmpty(t, os.Getenv("TMPDIR"))
}

func requireEmpty(t *testing.T, folder string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, entries, "temporary folders are to be removed")
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
