// Package deploy tests the manifests of this folder: that the API accepts them, that their parts
// fit together, and, with processes in place of pods, that the Job works as docs/campaigns.md says.
package deploy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// readManifest decodes the volume claim and the Job strictly: an unknown or duplicate field is an
// error.
func readManifest(content []byte) (*corev1.PersistentVolumeClaim, *batchv1.Job, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(batchv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		return nil, nil, err
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(content)))
	claim, job := &corev1.PersistentVolumeClaim{}, &batchv1.Job{}
	for _, into := range []runtime.Object{claim, job} {
		buffer := make([]byte, len(content)+1)
		n, err := documents.Read(buffer)
		if err != nil {
			return nil, nil, err
		}
		if _, _, err := decoder.Decode(buffer[:n], nil, into); err != nil {
			return nil, nil, err
		}
	}
	return claim, job, checkJob(job.Spec)
}

// checkJob checks what the API server would check, as far as a campaign depends on it, and that
// there is a shard for every pod.
func checkJob(spec batchv1.JobSpec) error {
	pod := spec.Template.Spec
	switch {
	case spec.CompletionMode == nil || *spec.CompletionMode != batchv1.IndexedCompletion:
		return errors.New("expected completionMode: Indexed, found another: pods would not know which shard they are")
	case spec.Completions == nil || *spec.Completions < 1 || spec.Parallelism == nil:
		return errors.New("expected completions and parallelism of 1 or more, found none")
	case spec.BackoffLimitPerIndex == nil || spec.PodFailurePolicy == nil:
		return errors.New("expected backoffLimitPerIndex and a podFailurePolicy, found none: the failures of one shard would stop all")
	case pod.RestartPolicy != corev1.RestartPolicyNever:
		return fmt.Errorf("expected restartPolicy: Never, without which a podFailurePolicy is refused, found %q", pod.RestartPolicy)
	case len(pod.Containers) != 1:
		return fmt.Errorf("expected one container, found %d", len(pod.Containers))
	}
	for _, mount := range pod.Containers[0].VolumeMounts {
		if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name }) {
			return fmt.Errorf("expected the volume %s that the container mounts, found none of that name", mount.Name)
		}
	}
	if resultsPath(spec) == "" {
		return errors.New("expected the container to mount the volume results, found no such mount")
	}
	if shards := argument(spec, "--shards="); shards != strconv.Itoa(int(*spec.Completions)) {
		return fmt.Errorf("expected --shards=%d, as many as completions, found %q", *spec.Completions, shards)
	}
	return nil
}

// resultsPath is where the container mounts the volume for results.
func resultsPath(spec batchv1.JobSpec) string {
	for _, mount := range spec.Template.Spec.Containers[0].VolumeMounts {
		if mount.Name == "results" {
			return mount.MountPath
		}
	}
	return ""
}

// argument is the value of the container's argument with that prefix.
func argument(spec batchv1.JobSpec, prefix string) string {
	for _, argument := range spec.Template.Spec.Containers[0].Args {
		if value, found := strings.CutPrefix(argument, prefix); found {
			return value
		}
	}
	return ""
}

// actionAfter returns the action of the Job's rules for a container that exited with a code other
// than 0.
func actionAfter(spec batchv1.JobSpec, code int) batchv1.PodFailurePolicyAction {
	for _, rule := range spec.PodFailurePolicy.Rules {
		codes := rule.OnExitCodes
		if codes == nil || codes.ContainerName != nil && *codes.ContainerName != spec.Template.Spec.Containers[0].Name {
			continue
		}
		if slices.Contains(codes.Values, int32(code)) == (codes.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn) {
			return rule.Action
		}
	}
	return batchv1.PodFailurePolicyActionCount
}

func manifest(t *testing.T) (content []byte, claim *corev1.PersistentVolumeClaim, spec batchv1.JobSpec) {
	content, err := os.ReadFile("indexed-job.yaml")
	require.NoError(t, err)
	claim, job, err := readManifest(content)
	require.NoError(t, err)
	return content, claim, job.Spec
}

// TestManifest checks that the parts fit together: the claim, CPUs and workers, the memory for the
// members' files. A shard that found failures is not restarted; one that ended early or was killed
// is.
func TestManifest(t *testing.T) {
	_, claim, spec := manifest(t)
	pod := spec.Template.Spec
	require.Equal(t, "campaign", pod.Containers[0].Args[0])
	require.Equal(t, resultsPath(spec), argument(spec, "--out="))
	require.Equal(t, claim.Name, pod.Volumes[0].PersistentVolumeClaim.ClaimName)
	resources := pod.Containers[0].Resources
	require.Equal(t, resources.Requests.Cpu().String(), argument(spec, "--workers="))
	members := pod.Volumes[1].EmptyDir
	require.Equal(t, corev1.StorageMediumMemory, members.Medium)
	require.Equal(t, -1, members.SizeLimit.Cmp(*resources.Limits.Memory()))

	require.Positive(t, *spec.BackoffLimitPerIndex)
	require.Equal(t, batchv1.PodFailurePolicyActionFailIndex, actionAfter(spec, 1))
	for _, code := range []int{2, 3, killed} {
		require.Equal(t, batchv1.PodFailurePolicyActionCount, actionAfter(spec, code), "exit code %d", code)
	}
}

func TestManifestsThatCannotWork(t *testing.T) {
	content, _, _ := manifest(t)
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
		require.Contains(t, string(content), row.from, name)
		_, _, err := readManifest(bytes.Replace(content, []byte(row.from), []byte(row.to), 1))
		require.ErrorContains(t, err, row.says, name)
	}
}
