package cacher

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/apis/example"
)

func TestAnEventIsEncodedOncePerFormat(t *testing.T) {
	var slot atomic.Pointer[payload]
	pod := newTestPod("a")
	var encoded atomic.Int32
	var group sync.WaitGroup
	for i := range 100 {
		format := runtime.Identifier([]string{"json", "protobuf"}[i%2])
		group.Go(func() {
			shared := share(&slot, func() runtime.Object { return pod }).(runtime.CacheableObject)
			var out bytes.Buffer
			require.NoError(t, shared.CacheEncode(format, func(object runtime.Object, w io.Writer) error {
				encoded.Add(1)
				require.NotSame(t, pod, object, "encoders write to what they encode")
				_, err := io.WriteString(w, string(format)+object.(*example.Pod).Name)
				return err
			}, &out))
			require.Equal(t, string(format)+"a", out.String())
		})
	}
	group.Wait()
	require.EqualValues(t, 2, encoded.Load())
}

func TestAnEncodingErrorIsToldToAll(t *testing.T) {
	var slot atomic.Pointer[payload]
	for range 2 {
		d := share(&slot, func() runtime.Object { return newTestPod("a") }).(runtime.CacheableObject)
		err := d.CacheEncode("json", func(runtime.Object, io.Writer) error { return errors.New("broken") }, io.Discard)
		require.ErrorContains(t, err, "broken")
	}
}

// What one consumer does to its object, no other consumer sees, nor does the cache.
func TestDeliveriesAreIsolated(t *testing.T) {
	var slot atomic.Pointer[payload]
	pod := newTestPod("a")
	pod.Labels = map[string]string{"app": "x"}
	get := func() *delivery { return share(&slot, func() runtime.Object { return pod }).(*delivery) }
	first, second := get(), get()
	first.SetResourceVersion("")
	require.NotNil(t, first.payload, "setting what is there copies nothing")
	first.SetName("changed")
	first.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{Kind: "Changed"})
	second.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{Kind: "Changed"})
	first.GetObject().(*example.Pod).Labels["app"] = "changed"
	second.GetObject().(*example.Pod).Labels["app"] = "changed"
	require.Equal(t, "changed", first.GetObject().(*example.Pod).Name)
	for _, name := range []string{second.GetName(), second.GetObject().(*example.Pod).Name, get().GetName(), pod.Name} {
		require.Equal(t, "a", name)
	}
	require.Equal(t, map[string]string{"app": "x"}, pod.Labels)
	require.Empty(t, pod.Kind)

	var out bytes.Buffer
	write := func(object runtime.Object, w io.Writer) error {
		_, err := io.WriteString(w, object.(*example.Pod).Name)
		return err
	}
	require.NoError(t, second.CacheEncode("text", write, &out))
	require.NoError(t, first.CacheEncode("text", write, &out))
	require.Equal(t, "achanged", out.String())
}
