package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

const manifest = "../indexed-job.yaml"

func TestManifestIsAnIndexedJob(t *testing.T) {
	j, err := readJob(manifest)
	require.NoError(t, err)
	require.Equal(t, 16, j.completions)
	require.Equal(t, "16", j.argument("--shards="))
	require.Equal(t, "/results", j.mounted)
	require.Equal(t, j.mounted, j.argument("--out="))
	require.Equal(t, "campaign", j.arguments[0])
}

// A shard that found failures is not run again, one that was cut short is.
func TestManifestRestartsWhatEndedEarly(t *testing.T) {
	j, err := readJob(manifest)
	require.NoError(t, err)
	require.Positive(t, j.retries)
	for code, action := range map[int]batchv1.PodFailurePolicyAction{
		1:      batchv1.PodFailurePolicyActionFailIndex,
		2:      batchv1.PodFailurePolicyActionCount,
		3:      batchv1.PodFailurePolicyActionCount,
		killed: batchv1.PodFailurePolicyActionCount,
	} {
		require.Equal(t, action, j.afterExit(code), "exit code %d", code)
	}
}

// The pod claims the volume that the manifest makes, has as much CPU as
// workers, and room for members' files within its memory.
func TestManifestFitsTogether(t *testing.T) {
	content, err := os.ReadFile(manifest)
	require.NoError(t, err)
	objects, err := decode(content)
	require.NoError(t, err)
	require.Len(t, objects, 2)
	claim, made := objects[0].(*corev1.PersistentVolumeClaim), objects[1].(*batchv1.Job)
	pod := made.Spec.Template.Spec
	require.Equal(t, claim.Name, pod.Volumes[0].PersistentVolumeClaim.ClaimName)

	container := pod.Containers[0]
	j, err := newJob(made)
	require.NoError(t, err)
	require.Equal(t, container.Resources.Requests.Cpu().String(), j.argument("--workers="))
	members := pod.Volumes[1].EmptyDir
	require.Equal(t, corev1.StorageMediumMemory, members.Medium)
	require.Equal(t, -1, members.SizeLimit.Cmp(*container.Resources.Limits.Memory()))
}

func TestManifestsThatCannotWorkAreRefused(t *testing.T) {
	content, err := os.ReadFile(manifest)
	require.NoError(t, err)
	for name, row := range map[string]struct{ from, to, says string }{
		"field that the API does not have": {"completions: 16", "completoins: 16", `unknown field "spec.completoins"`},
		"field that is there twice":        {"parallelism: 16", "parallelism: 16\n  parallelism: 4", `already set`},
		"value of another type":            {"parallelism: 16", "parallelism: many", "cannot unmarshal"},
		"fewer pods than shards":           {"completions: 16", "completions: 8", `expected --shards=8, as many as completions, found "16"`},
		"pods without an index":            {"completionMode: Indexed", "completionMode: NonIndexed", "expected completionMode: Indexed"},
		"one failure stops all":            {"  backoffLimitPerIndex: 3\n", "", "expected backoffLimitPerIndex"},
		"containers restarted in place":    {"restartPolicy: Never", "restartPolicy: OnFailure", "expected restartPolicy: Never"},
		"volume that is not there":         {"- name: results\n          persistent", "- name: other\n          persistent", "expected the volume results"},
		"results kept nowhere":             {"- name: results\n              mountPath: /results\n", "", "expected the container to mount the volume results"},
		"no Job":                           {"kind: Job", "kind: Jobb", `no kind "Jobb" is registered`},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, string(content), row.from)
			path := filepath.Join(t.TempDir(), "job.yaml")
			require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(content), row.from, row.to, 1)), 0o600))
			_, err := readJob(path)
			require.ErrorIs(t, err, errManifest)
			require.ErrorContains(t, err, row.says)
		})
	}
}
