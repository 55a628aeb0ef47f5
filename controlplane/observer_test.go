package controlplane

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// An observer agrees with the state of the cluster, and with no other.
func TestAgrees(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "r", Name: "a", UID: "1", ResourceVersion: "5"}}
	for name, test := range map[string]struct {
		change func(o *observed)
		wrong  string // nothing if it is empty
	}{
		"in sync": {func(*observed) {}, ""},
		"a store with another object": {func(o *observed) { _ = o.informer.GetStore().Add(at("2", "6")) },
			"the informer of pods has r/a with UID 2 at resourceVersion 6, and there is UID 1 at resourceVersion 5"},
		"a store that lacks an object":   {func(o *observed) { _ = o.informer.GetStore().Delete(pod) }, "the informer of pods lacks r/a, UID 1 at resourceVersion 5"},
		"a handler that lacks an object": {func(o *observed) { o.handlers[0].OnDelete(at("1", "6")) }, "handler 1 of pods lacks r/a"},
		"a handler that keeps a deleted object": {func(o *observed) {
			o.handlers[0].OnAdd(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "3", ResourceVersion: "6"}}, false)
		}, "handler 1 of pods has b with UID 3 at resourceVersion 6, which is gone"},
		"a stale handler":                 {func(o *observed) { o.handlers[0].last["r/a"] = at("1", "4") }, "handler 1 of pods has r/a with UID 1 at resourceVersion 4, and there is"},
		"a handler that never syncs":      {func(o *observed) { o.handlers[0].registered = registration{} }, "handler 1 of pods has not synced"},
		"a handler without a resync":      {func(o *observed) { o.handlers[0].resync = time.Second; o.handlers[0].told["r/a"] = time.Time{} }, "handler 1 of pods has a resync period of 1s"},
		"an informer that does not stop":  {func(o *observed) { o.stopped = time.Now() }, "and has not ended"},
		"an informer that does not start": {func(o *observed) { o.informer = nil }, "the informer of pods has not started"},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(pod)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o := &Observer{}
			require.ErrorContains(t, o.Agrees(ctx, client, time.Time{}), "expected a running observer")
			one := &observed{resource: observable[0], report: o.report}
			o.observed = []*observed{one}
			require.NoError(t, one.begin(client))
			one.add(true)
			one.handlers[0].resync = 0
			go one.informer.RunWithContext(ctx)
			require.Eventually(t, func() bool { return o.Agrees(ctx, client, time.Time{}) == nil }, 10*time.Second, time.Millisecond)
			test.change(one)
			err := o.Agrees(ctx, client, time.Time{})
			if test.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.wrong)
		})
	}
}

// Informers that were stopped and restarted, and handlers that were added and removed, are up to date in the end.
func TestObserver(t *testing.T) {
	client := fake.NewClientset()
	ctx, cancel := context.WithCancel(t.Context())
	o, ended := &Observer{}, make(chan struct{})
	go func() {
		defer close(ended)
		o.run(ctx, client, time.Now().Add(3*time.Second))
	}()
	require.Eventually(t, func() bool { return o.Agrees(ctx, client, time.Time{}) == nil }, 20*time.Second, 100*time.Millisecond)
	cancel()
	<-ended
	require.Empty(t, o.Broken())
}
