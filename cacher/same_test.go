package cacher

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
	"pgregory.net/rapid"
)

// selectors are label and field selectors. The sentinel pod satisfies all of them.
var selectors = map[string]func(*storage.SelectionPredicate){
	"everything": func(*storage.SelectionPredicate) {},
	"an app":     func(p *storage.SelectionPredicate) { p.Label = labels.SelectorFromSet(labels.Set{"app": "v"}) },
	"not an app": func(p *storage.SelectionPredicate) { p.Label, _ = labels.Parse("app!=w") },
	"a node":     func(p *storage.SelectionPredicate) { p.Field = fields.OneTermEqualSelector(nodeField, "n1") },
	"an app on a node": func(p *storage.SelectionPredicate) {
		p.Label, p.Field = labels.SelectorFromSet(labels.Set{"app": "v"}), fields.OneTermEqualSelector(nodeField, "n1")
	},
}

// randomWrite creates, changes or deletes a pod, and returns the RV afterwards.
func (p *pair) randomWrite(t *rapid.T, ctx context.Context) uint64 {
	drawn := onNode(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "name"), rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "node"))
	drawn.Namespace = rapid.SampledFrom([]string{"x", "y", "xy"}).Draw(t, "namespace")
	drawn.Labels = map[string]string{"app": rapid.SampledFrom([]string{"v", "w"}).Draw(t, "app")}
	if rapid.IntRange(0, 3).Draw(t, "deletes if 0") == 0 {
		deleted := &example.Pod{}
		err := p.Delete(ctx, podKey(drawn), deleted, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
		if storage.IsNotFound(err) {
			return p.rv
		}
		require.NoError(t, err)
		return rvOf(deleted)
	}
	return p.put(t, ctx, drawn)
}

// put creates a pod or replaces it, and returns its RV.
func (p *pair) put(t require.TestingT, ctx context.Context, pod *example.Pod) uint64 {
	written := &example.Pod{}
	require.NoError(t, p.GuaranteedUpdate(ctx, podKey(pod), written, true, nil, storage.SimpleUpdate(func(old runtime.Object) (runtime.Object, error) {
		pod.Generation = old.(*example.Pod).Generation + 1 // so that there is a change
		return pod, nil
	}), nil))
	return rvOf(written)
}

func rvOf(object runtime.Object) uint64 {
	rv, err := storage.APIObjectVersioner{}.ObjectResourceVersion(object)
	utilruntime.Must(err)
	return rv
}

// pages follows a list from page to page and describes everything that it returned.
func pages(options storage.ListOptions, key string) request {
	return func(ctx context.Context, s storage.Interface) (told string) {
		options := options // each cache has its own tokens
		for {
			page := &example.PodList{}
			told += list(key, options, func() runtime.Object { return page })(ctx, s) + "\n"
			if page.Continue == "" {
				return told
			}
			options.Predicate.Continue, options.ResourceVersion, options.ResourceVersionMatch = page.Continue, "", ""
		}
	}
}

// events describes what a watch delivers up to an RV.
func events(options storage.ListOptions, key string, last uint64) request {
	return func(ctx context.Context, s storage.Interface) (told string) {
		w, err := s.Watch(ctx, key, options)
		if err != nil {
			return outcome(err)
		}
		defer w.Stop()
		for e := range w.ResultChan() {
			object, ok := e.Object.(metav1.Object)
			if !ok {
				return told + fmt.Sprint(e.Object)
			}
			told += fmt.Sprintf("%s %s/%s@%s %v\n", e.Type, object.GetNamespace(), object.GetName(), object.GetResourceVersion(), object.GetLabels())
			if rvOf(e.Object) >= last {
				return told
			}
		}
		return told + "closed"
	}
}

// For any writes and any list or watch, this cache answers as Kubernetes' does: the same objects
// and events in the same order, at the same RVs, in the same pages.
func TestTheCacheAnswersAsKubernetes(t *testing.T) {
	p := newPair(t)
	floor := p.compacted
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(0, 6).Draw(rt, "writes") {
			p.rv = p.randomWrite(rt, t.Context())
		}
		sentinel := onNode("sentinel", "n1")
		sentinel.Namespace, sentinel.Labels = "x", map[string]string{"app": "v"}
		p.rv = p.put(rt, t.Context(), sentinel)
		for _, cache := range []storage.Interface{p.Cacher, p.kubernetes} {
			require.NoError(rt, cache.Get(t.Context(), podKey(sentinel), storage.GetOptions{ResourceVersion: fmt.Sprint(p.rv)}, newPod()))
		}
		for range rapid.IntRange(1, 6).Draw(rt, "reads") {
			options := storage.ListOptions{Recursive: true, Predicate: storage.SelectionPredicate{
				Label: labels.Everything(), Field: fields.Everything(), GetAttrs: podAttributes, IndexFields: []string{nodeField},
			}}
			selectors[rapid.SampledFrom([]string{"everything", "an app", "not an app", "a node", "an app on a node"}).Draw(rt, "selector")](&options.Predicate)
			key := rapid.SampledFrom([]string{podPrefix, "/pods/x/"}).Draw(rt, "key")
			if rapid.Bool().Draw(rt, "watch") {
				from := rapid.Uint64Range(max(floor+20, p.rv)-20, p.rv-1).Draw(rt, "from")
				options.ResourceVersion = fmt.Sprint(from)
				ours, theirs := both(t, events(options, key, p.rv), p.Cacher, p.kubernetes)
				require.Equal(rt, theirs, ours)
				continue
			}
			at := fmt.Sprint(rapid.Uint64Range(max(floor+20, p.rv)-20, p.rv).Draw(rt, "rv"))
			options.ResourceVersion = rapid.SampledFrom([]string{"", "0", at}).Draw(rt, "resourceVersion")
			if options.ResourceVersion != "" {
				options.ResourceVersionMatch = rapid.SampledFrom([]metav1.ResourceVersionMatch{"", metav1.ResourceVersionMatchExact, metav1.ResourceVersionMatchNotOlderThan}).Draw(rt, "match")
			}
			if options.Predicate.Limit = rapid.Int64Range(0, 4).Draw(rt, "limit"); options.Predicate.Limit > 0 {
				// Kubernetes' cache takes pages from no index, so that it may end with an
				// empty one, where this cache knows that nothing else is on the node.
				options.Predicate.IndexFields = nil
			}
			if rapid.IntRange(0, 4).Draw(rt, "one object if 0") == 0 {
				key, options.Recursive = "/pods/x/a", false
			}
			ours, theirs := both(t, pages(options, key), p.Cacher, p.kubernetes)
			require.Equal(rt, theirs, ours)
		}
	})
}
