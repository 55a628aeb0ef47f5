package cacher

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/apitesting"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
)

// The tests of this file are Kubernetes' own, from k8s.io/apiserver/pkg/storage/testing.
// docs/cacher.md lists those that are left out.

// noInvariants and noCalls replace inspections of a store: the cache passes writes on.
func noInvariants(context.Context, *testing.T, string) {}
func noCalls(*testing.T, uint64, uint64)               {}

// suiteTests are those that need only a cache of their own.
type suiteTests map[string]func(context.Context, *testing.T, storage.Interface)

func (tests suiteTests) run(t *testing.T, options ...func(*setup)) {
	for name, run := range tests {
		t.Run(name, func(t *testing.T) { run(t.Context(), t, newFixture(t, options...).Cacher) })
	}
}

func TestSuiteWrites(t *testing.T) {
	suiteTests{
		"Create": func(ctx context.Context, t *testing.T, s storage.Interface) {
			storagetesting.RunTestCreate(ctx, t, s, noInvariants)
		},
		"CreateWithTTL":                         storagetesting.RunTestCreateWithTTL,
		"CreateWithKeyExist":                    storagetesting.RunTestCreateWithKeyExist,
		"UnconditionalDelete":                   storagetesting.RunTestUnconditionalDelete,
		"ConditionalDelete":                     storagetesting.RunTestConditionalDelete,
		"DeleteWithSuggestion":                  storagetesting.RunTestDeleteWithSuggestion,
		"DeleteWithSuggestionAndConflict":       storagetesting.RunTestDeleteWithSuggestionAndConflict,
		"DeleteWithSuggestionOfDeletedObject":   storagetesting.RunTestDeleteWithSuggestionOfDeletedObject,
		"ValidateDeletionWithSuggestion":        storagetesting.RunTestValidateDeletionWithSuggestion,
		"ValidateDeletionWithOnlySuggestion":    storagetesting.RunTestValidateDeletionWithOnlySuggestionValid,
		"DeleteWithConflict":                    storagetesting.RunTestDeleteWithConflict,
		"PreconditionalDeleteWithSuggestion":    storagetesting.RunTestPreconditionalDeleteWithSuggestion,
		"PreconditionalDeleteOnlySuggestion":    storagetesting.RunTestPreconditionalDeleteWithOnlySuggestionPass,
		"GuaranteedUpdateWithTTL":               storagetesting.RunTestGuaranteedUpdateWithTTL,
		"GuaranteedUpdateWithConflict":          storagetesting.RunTestGuaranteedUpdateWithConflict,
		"GuaranteedUpdateSuggestionAndConflict": storagetesting.RunTestGuaranteedUpdateWithSuggestionAndConflict,
		"KeySchema":                             storagetesting.RunTestKeySchema,
	}.run(t)
}

// failing is a switch that makes a transformer or codec fail.
type failing struct{ on atomic.Bool }

var errFailing = errors.New("failing on purpose")

type failingTransformer struct {
	value.Transformer
	failing
}

func (f *failingTransformer) TransformFromStorage(ctx context.Context, data []byte, at value.Context) ([]byte, bool, error) {
	if f.on.Load() {
		return nil, false, errFailing
	}
	return f.Transformer.TransformFromStorage(ctx, data, at)
}

type failingCodec struct {
	runtime.Codec
	failing
}

func (f *failingCodec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if f.on.Load() {
		return nil, nil, errFailing
	}
	return f.Codec.Decode(data, defaults, into)
}

func TestSuiteDeletesOfWhatCannotBeRead(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.AllowUnsafeMalformedObjectDeletion, true)
	t.Run("Suggestion", func(t *testing.T) {
		storagetesting.RunTestDeleteWithSuggestionAndMissingExpectedTransformOrDecodeError(t.Context(), t, newFixture(t).Cacher)
	})
	newTransformer := func() (*failingTransformer, func(*setup)) {
		transformer := &failingTransformer{Transformer: identity.NewEncryptCheckTransformer()}
		return transformer, func(s *setup) { s.transformer = transformer }
	}
	t.Run("MissingError", func(t *testing.T) {
		transformer, option := newTransformer()
		storagetesting.RunTestDeleteWithConflictAndMissingExpectedTransformOrDecodeError(t.Context(), t, newFixture(t, option).Cacher, transformer.on.Store)
	})
	t.Run("TransformError", func(t *testing.T) {
		transformer, option := newTransformer()
		storagetesting.RunTestDeleteExpectedTransformOrDecodeError(t.Context(), t, newFixture(t, option).Cacher, transformer.on.Store)
	})
	t.Run("DecodeError", func(t *testing.T) {
		etcd3.TestOnlySetFatalOnDecodeError(t, false)
		codec := &failingCodec{Codec: apitesting.TestCodec(codecs, examplev1.SchemeGroupVersion)}
		f := newFixture(t, func(s *setup) { s.codec = codec })
		storagetesting.RunTestDeleteExpectedTransformOrDecodeError(t.Context(), t, f.Cacher, codec.on.Store)
	})
}

func TestSuiteReads(t *testing.T) {
	tests := suiteTests{
		"Get":                 storagetesting.RunTestGet,
		"ListPaging":          storagetesting.RunTestListPaging,
		"ListRecursivePrefix": storagetesting.RunTestGetListRecursivePrefix,
	}
	for name, run := range map[string]func(context.Context, *testing.T, storage.Interface, storagetesting.CallsValidation){
		"ListContinuation":           storagetesting.RunTestListContinuation,
		"ListPaginationRareObject":   storagetesting.RunTestListPaginationRareObject,
		"ListContinuationWithFilter": storagetesting.RunTestListContinuationWithFilter,
	} {
		tests[name] = func(ctx context.Context, t *testing.T, s storage.Interface) { run(ctx, t, s, noCalls) }
	}
	tests.run(t)
	suiteTests{"NamespaceScopedList": storagetesting.RunTestNamespaceScopedList}.run(t, indexed)
}

func TestSuiteLists(t *testing.T) {
	for _, snapshots := range []bool{true, false} {
		t.Run(fmt.Sprintf("ListFromCacheSnapshot=%v", snapshots), func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.ListFromCacheSnapshot, snapshots)
			t.Run("List", func(t *testing.T) {
				f := newFixture(t)
				storagetesting.RunTestList(t.Context(), t, f.Cacher, f.compactStore, true, f.recorder())
			})
			t.Run("ConsistentList", func(t *testing.T) {
				f := newFixture(t)
				storagetesting.RunTestConsistentList(t.Context(), t, f.Cacher, f.increaseRV, true, true, snapshots)
			})
			t.Run("GetListNonRecursive", func(t *testing.T) {
				f := newFixture(t)
				storagetesting.RunTestGetListNonRecursive(t.Context(), t, f.increaseRV, f.Cacher)
			})
		})
	}
}

func (f *fixture) recorder() *storagetesting.KubernetesRecorder {
	return f.server.V3Client.Kubernetes.(*storagetesting.KubernetesRecorder)
}

func TestSuiteCompactRevision(t *testing.T) {
	f := newFixture(t)
	storagetesting.RunTestCompactRevision(t.Context(), t, f.Cacher, f.increaseRV, f.compactStore)
}

func TestSuiteStats(t *testing.T) {
	for _, estimate := range []bool{true, false} {
		t.Run(fmt.Sprintf("SizeBasedListCostEstimate=%v", estimate), func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.SizeBasedListCostEstimate, estimate)
			storagetesting.RunTestStats(t.Context(), t, newFixture(t).Cacher, podCodec, identity.NewEncryptCheckTransformer(), estimate)
		})
	}
}

// TestMarkConsistent does what Kubernetes' test of that name does: a past state is read from etcd
// while the cache is in doubt, and if it is from that time.
func TestMarkConsistent(t *testing.T) {
	f := newFixture(t)
	create := func(name string) string {
		pod := &example.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		require.NoError(t, f.Create(t.Context(), podKey(pod), pod, pod, 0))
		return pod.ResourceVersion
	}
	requests := func(rv string) int {
		ctx := context.WithValue(t.Context(), storagetesting.RecorderContextKey, t.Name()+rv)
		before := len(f.recorder().ListRequestForKey(t.Name() + rv))
		options := allPods(rv)
		options.ResourceVersionMatch = metav1.ResourceVersionMatchExact
		require.NoError(t, f.GetList(ctx, podPrefix, options, newPodList()))
		return len(f.recorder().ListRequestForKey(t.Name()+rv)) - before
	}
	first := create("a")
	require.Zero(t, requests(first))
	f.MarkConsistent(false)
	require.Equal(t, 1, requests(first))
	second := create("b")
	require.Equal(t, 1, requests(second))
	// A cache that has not seen it yet would stand at the first when it is trusted again.
	f.reach(t.Context(), t, second)
	f.MarkConsistent(true)
	third := create("c")
	require.Zero(t, requests(third))
	require.Equal(t, 1, requests(first))
}

func TestSuiteWatch(t *testing.T) {
	suiteTests{
		"Watch":                                 storagetesting.RunTestWatch,
		"WatchContextCancel":                    storagetesting.RunTestWatchContextCancel,
		"DeleteTriggerWatch":                    storagetesting.RunTestDeleteTriggerWatch,
		"WatchFromNonZero":                      storagetesting.RunTestWatchFromNonZero,
		"DelayedWatchDelivery":                  storagetesting.RunTestDelayedWatchDelivery,
		"WatcherTimeout":                        storagetesting.RunTestWatcherTimeout,
		"WatchDeleteEventObjectHaveLatestRV":    storagetesting.RunTestWatchDeleteEventObjectHaveLatestRV,
		"WatchInitializationSignal":             storagetesting.RunTestWatchInitializationSignal,
		"BookmarksWithCorrectResourceVersion":   storagetesting.RunTestOptionalWatchBookmarksWithCorrectResourceVersion,
		"SendInitialEventsBackwardCompatiblity": storagetesting.RunSendInitialEventsBackwardCompatibility,
		"WatchDispatchBookmarkEvents": func(ctx context.Context, t *testing.T, s storage.Interface) {
			storagetesting.RunTestWatchDispatchBookmarkEvents(ctx, t, s, true)
		},
	}.run(t)
	for name, run := range map[string]func(context.Context, *testing.T, storage.Interface){
		"WatchSemantics":                     storagetesting.RunWatchSemantics,
		"WatchSemanticInitialEventsExtended": storagetesting.RunWatchSemanticInitialEventsExtended,
		"WatchListMatchSingle":               storagetesting.RunWatchListMatchSingle,
	} {
		t.Run(name, func(t *testing.T) { run(t.Context(), t, creating{newFixture(t).Cacher}) })
	}
	t.Run("WatchFromZero", func(t *testing.T) {
		f := newFixture(t)
		storagetesting.RunTestWatchFromZero(t.Context(), t, f.Cacher, f.compactWatch)
	})
	suiteTests{"ClusterScopedWatch": storagetesting.RunTestClusterScopedWatch}.run(t, clusterScoped, indexed)
	suiteTests{"NamespaceScopedWatch": storagetesting.RunTestNamespaceScopedWatch}.run(t, indexed)
}
