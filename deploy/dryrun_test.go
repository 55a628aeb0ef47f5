package deploy

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/watchsim/watchsim/search/campaign"
)

var (
	simrunFlag  = flag.String("simrun", "", "the simrun that TestDryRun starts for each pod; it is skipped without one")
	seedsFlag   = flag.String("seeds", "1-200", "seeds of TestDryRun")
	resultsFlag = flag.String("results", "", "folder of TestDryRun in place of the volume for results")
)

// killed is the exit code that Kubernetes reports of a container that got SIGKILL.
const killed = 137

// jobRun does with processes what Kubernetes does with the pods of an Indexed Job: it runs the
// container's command for each index, with a folder in place of the volume, with the Job's
// parallelism, and restarts pods that ended early by the Job's rules.
type jobRun struct {
	spec            batchv1.JobSpec
	binary, results string
	kill            int // the index whose pod is killed once as soon as it has results; -1 for none
}

// run returns the exit codes of the pods of each index, in the order of their starts.
func (r jobRun) run(t *testing.T) [][]int {
	codes := make([][]int, *r.spec.Completions)
	var nodes errgroup.Group
	nodes.SetLimit(int(*r.spec.Parallelism))
	for index := range codes {
		nodes.Go(func() error {
			for len(codes[index]) <= int(*r.spec.BackoffLimitPerIndex) {
				code, err := r.pod(t, index, len(codes[index]) == 0 && index == r.kill)
				if err != nil {
					return err
				}
				codes[index] = append(codes[index], code)
				if code == 0 || actionAfter(r.spec, code) == batchv1.PodFailurePolicyActionFailIndex {
					break
				}
			}
			return nil
		})
	}
	require.NoError(t, nodes.Wait())
	return codes
}

// pod runs the container of an index once and returns its exit code.
func (r jobRun) pod(t *testing.T, index int, kill bool) (int, error) {
	arguments := strings.Split(strings.ReplaceAll(strings.Join(r.spec.Template.Spec.Containers[0].Args, "\n"), resultsPath(r.spec), r.results), "\n")
	command := exec.CommandContext(t.Context(), r.binary, arguments...)
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%d", campaign.CompletionIndexVariable, index))
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	if kill {
		go r.killWithResults(command.Process, index, ended)
	}
	_ = command.Wait() // the exit code says it
	close(ended)
	t.Logf("pod of index %d: %s\n%s", index, command.ProcessState, output.String())
	if !command.ProcessState.Exited() {
		return killed, nil
	}
	return command.ProcessState.ExitCode(), nil
}

// killWithResults kills a pod's process once its file has the header and a result. The shard
// may be complete by then.
func (r jobRun) killWithResults(process *os.Process, index int, ended <-chan struct{}) {
	path := filepath.Join(r.results, campaign.Shard{Index: index + 1, Count: int(*r.spec.Completions)}.FileName())
	for {
		select {
		case <-ended:
			return
		case <-time.After(20 * time.Millisecond):
		}
		if content, err := os.ReadFile(path); err == nil && bytes.Count(content, []byte("\n")) > 1 {
			_ = process.Kill()
			return
		}
	}
}

// small is the Job with four pods, two at a time.
func small(t *testing.T, more ...string) batchv1.JobSpec {
	_, _, spec := manifest(t)
	*spec.Completions, *spec.Parallelism = 4, 2
	container := &spec.Template.Spec.Containers[0]
	container.Args = append(append(container.Args, "--shards=4"), more...)
	return spec
}

// TestPodsAreStartedAsTheJobSays runs a script in place of simrun, whose pods end with these
// exit codes.
func TestPodsAreStartedAsTheJobSays(t *testing.T) {
	results := t.TempDir()
	script := filepath.Join(results, "simrun")
	require.NoError(t, os.WriteFile(script, []byte(`#!/bin/sh
started=`+results+`/started-$JOB_COMPLETION_INDEX
echo "$@" >>$started
set -- 0 1 332 2222 # the exit codes of each index
shift $JOB_COMPLETION_INDEX
exit $(echo "${1}0" | cut -c $(wc -l <$started))
`), 0o700))
	codes := jobRun{spec: small(t), binary: script, results: results, kill: -1}.run(t)
	require.Equal(t, [][]int{{0}, {1}, {3, 3, 2, 0}, {2, 2, 2, 2}}, codes)
	started, err := os.ReadFile(filepath.Join(results, "started-1"))
	require.NoError(t, err)
	require.Equal(t, "campaign --seeds=1-1000000 --shards=16 --scenario=minute --out="+results+" --workers=2 --shards=4\n", string(started))
}

// TestDryRun runs a campaign of four shards with simrun itself and kills one of its pods. make
// campaign-dry-run provides the binary.
func TestDryRun(t *testing.T) {
	if *simrunFlag == "" {
		t.Skip("expected -simrun with a binary, found none; make campaign-dry-run gives one")
	}
	results := *resultsFlag
	if results == "" {
		results = t.TempDir()
	}
	require.NoError(t, os.MkdirAll(results, 0o755))
	codes := jobRun{spec: small(t, "--seeds="+*seedsFlag, "--workers=1"), binary: *simrunFlag, results: results, kill: 1}.run(t)
	for index, all := range codes {
		require.Contains(t, []int{0, 1}, all[len(all)-1], "index %d ended with %v", index, all)
	}
	merged, err := exec.Command(*simrunFlag, "merge", results).CombinedOutput()
	t.Logf("pods: %v\n%s", codes, merged)
	if exited, failed := err.(*exec.ExitError); !failed || exited.ExitCode() != 1 {
		require.NoError(t, err)
	}
}
