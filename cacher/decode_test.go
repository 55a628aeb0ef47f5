package cacher

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/apitesting"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/storage/etcd3"
	etcd3testing "k8s.io/apiserver/pkg/storage/etcd3/testing"
)

// TestAnObjectThatCannotBeDecoded stores an object that the cache cannot decode for a time. The
// cache must not ignore it: watches end without it, the cache is not ready, and once it is
// decodable the cache has it.
func TestAnObjectThatCannotBeDecoded(t *testing.T) {
	etcd3.TestOnlySetFatalOnDecodeError(t, false)
	codec := &failingCodec{Codec: apitesting.TestCodec(codecs, examplev1.SchemeGroupVersion)}
	f := newFixture(t, func(s *setup) { s.codec = codec })
	first, second := &example.Pod{}, newTestPod("b")
	require.NoError(t, f.Create(t.Context(), podKey(newTestPod("a")), newTestPod("a"), first, 0))
	w, err := f.Watch(t.Context(), podPrefix, allPods(first.ResourceVersion))
	require.NoError(t, err)
	t.Cleanup(w.Stop)

	f.reach(t.Context(), t, first.ResourceVersion)
	codec.on.Store(true)
	encoded, err := runtime.Encode(codec, second)
	require.NoError(t, err)
	_, err = f.server.V3Client.Put(t.Context(), etcd3testing.PathPrefix()+podKey(second), string(encoded))
	require.NoError(t, err)
	require.Equal(t, "closed", next(t, w))
	require.Eventually(t, func() bool { return f.ReadinessCheck() != nil }, patience, time.Millisecond)

	codec.on.Store(false)
	require.NoError(t, f.Wait(t.Context()))
	list := &example.PodList{}
	require.NoError(t, f.GetList(t.Context(), podPrefix, allPods("0"), list))
	require.Len(t, list.Items, 2)
	w, err = f.Watch(t.Context(), podPrefix, allPods(first.ResourceVersion))
	require.NoError(t, err)
	t.Cleanup(w.Stop)
	require.Equal(t, "ERROR 410", next(t, w), "what came in between is not in the window")
}
