package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// resultsVolume is the name of the volume that holds the results.
const resultsVolume = "results"

// job is what matters of a manifest to whoever runs it.
type job struct {
	completions, parallelism int
	// retries is how often an index is started again, and rules decide what that
	// depends on.
	retries   int
	rules     []batchv1.PodFailurePolicyRule
	container string
	arguments []string
	mounted   string // the path of the volume for results
}

// errManifest means that a manifest is none of an Indexed Job that runs simrun.
var errManifest = errors.New("not usable as a manifest")

// readJob reads the one Job of a manifest, with every field known to the API.
func readJob(path string) (*job, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errManifest, err)
	}
	objects, err := decode(content)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errManifest, path, err)
	}
	var found *batchv1.Job
	for _, object := range objects {
		if made, ok := object.(*batchv1.Job); ok {
			if found != nil {
				return nil, fmt.Errorf("%w: %s: expected one Job, found several", errManifest, path)
			}
			found = made
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%w: %s: expected a Job, found none", errManifest, path)
	}
	j, err := newJob(found)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errManifest, path, err)
	}
	return j, nil
}

// decode decodes all documents of a file, strictly: a field that the API does
// not have, or has twice, is an error.
func decode(content []byte) ([]runtime.Object, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(batchv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(content)))
	defer documents.Close()
	var objects []runtime.Object
	buffer := make([]byte, len(content)+1)
	for {
		n, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		object, _, err := decoder.Decode(buffer[:n], nil, nil)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
}

// newJob checks what the API server would check, as far as a campaign depends
// on it, and what it could not know: that there is a shard for every pod.
func newJob(made *batchv1.Job) (*job, error) {
	spec := made.Spec
	pod := spec.Template.Spec
	switch {
	case spec.CompletionMode == nil || *spec.CompletionMode != batchv1.IndexedCompletion:
		return nil, errors.New("expected completionMode: Indexed, found another: pods would not know which shard they are")
	case spec.Completions == nil || *spec.Completions < 1:
		return nil, errors.New("expected completions: 1 or more, found none")
	case spec.BackoffLimitPerIndex == nil:
		return nil, errors.New("expected backoffLimitPerIndex, found none: one shard's failures would stop all")
	case pod.RestartPolicy != corev1.RestartPolicyNever:
		return nil, fmt.Errorf("expected restartPolicy: Never, without which a podFailurePolicy is refused, found %q", pod.RestartPolicy)
	case len(pod.Containers) != 1:
		return nil, fmt.Errorf("expected one container, found %d", len(pod.Containers))
	}
	container := pod.Containers[0]
	j := &job{
		completions: int(*spec.Completions), parallelism: 1, retries: int(*spec.BackoffLimitPerIndex),
		container: container.Name, arguments: container.Args,
	}
	if spec.Parallelism != nil {
		j.parallelism = int(*spec.Parallelism)
	}
	if spec.PodFailurePolicy != nil {
		j.rules = spec.PodFailurePolicy.Rules
	}
	for _, mount := range container.VolumeMounts {
		if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name }) {
			return nil, fmt.Errorf("expected the volume %s that the container mounts, found none of that name", mount.Name)
		}
		if mount.Name == resultsVolume {
			j.mounted = mount.MountPath
		}
	}
	if j.mounted == "" {
		return nil, fmt.Errorf("expected the container to mount the volume %s, found no such mount", resultsVolume)
	}
	if shards := j.argument("--shards="); shards != strconv.Itoa(j.completions) {
		return nil, fmt.Errorf("expected --shards=%d, as many as completions, found %q", j.completions, shards)
	}
	return j, nil
}

// argument is the value of the last argument with that beginning.
func (j *job) argument(prefix string) string {
	for _, argument := range slices.Backward(j.arguments) {
		if value, found := strings.CutPrefix(argument, prefix); found {
			return value
		}
	}
	return ""
}

// setCompletions changes the number of pods, and of shards with it.
func (j *job) setCompletions(n int) {
	j.completions = n
	j.arguments = append(j.arguments, "--shards="+strconv.Itoa(n))
}

// afterExit is what the manifest's rules say of a pod that ended with an exit
// code other than 0. Conditions of pods do not occur in a dry run.
func (j *job) afterExit(code int) batchv1.PodFailurePolicyAction {
	for _, rule := range j.rules {
		if codes := rule.OnExitCodes; codes != nil && (codes.ContainerName == nil || *codes.ContainerName == j.container) &&
			slices.Contains(codes.Values, int32(code)) == (codes.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn) {
			return rule.Action
		}
	}
	return batchv1.PodFailurePolicyActionCount
}
