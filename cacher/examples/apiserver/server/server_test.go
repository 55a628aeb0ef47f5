package server

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/watchsim/watchsim/cacher/examples/apiserver/api/v1"
)

// TestServer makes the same requests to servers with either cache, and to one without. The contents
// of lists, bookmarks and initial events are tested by the suite of package cacher.
func TestServer(t *testing.T) {
	for _, watchCache := range []WatchCache{Watchsim, Kubernetes, Off} {
		t.Run(string(watchCache), func(t *testing.T) {
			t.Parallel()
			s := start(t, watchCache, startEtcd(t), nil)
			for _, test := range []struct {
				name string
				run  func(*testing.T, *apiServer, string)
			}{
				{"informer", testInformer},
				{"watch", testWatch},
				{"selectors", testSelectors},
				{"apply", testApply},
				{"validation", testValidation},
				{"discovery", testDiscovery},
			} {
				t.Run(test.name, func(t *testing.T) {
					of := *s
					of.t = t
					test.run(t, &of, test.name) // each in a namespace of its own
				})
			}
		})
	}
}

// testInformer has a client-go informer follow a widget from creation to deletion.
func testInformer(t *testing.T, s *apiServer, namespace string) {
	seen := make(chan string, 100)
	note := func(what string, object any) {
		widget := object.(*unstructured.Unstructured)
		seen <- fmt.Sprintf("%s %s generation %d", what, widget.GetName(), widget.GetGeneration())
	}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(s.dynamic, 0, namespace, nil)
	informer := factory.ForResource(v1.Resource).Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { note("added", object) },
		UpdateFunc: func(_, object any) { note("updated", object) },
		DeleteFunc: func(object any) { note("deleted", object) },
	})
	require.NoError(t, err)
	s.create(namespace, "old", "", nil)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())

	widget := s.create(namespace, "new", "", nil)
	widget.Spec.Size = 3
	widget = s.update(widget)
	widget.Labels = map[string]string{"colour": "red"}
	s.remove(s.update(widget))
	for _, want := range []string{
		"added old generation 1", "added new generation 1", "updated new generation 2",
		"updated new generation 2", "deleted new generation 2",
	} {
		select {
		case got := <-seen:
			require.Equal(t, want, got)
		case <-time.After(patience):
			require.Fail(t, "the informer has not seen: "+want)
		}
	}
	require.Equal(t, []string{namespace + "/old"}, informer.GetStore().ListKeys())
}

// testWatch resumes a watch at a resourceVersion.
func testWatch(t *testing.T, s *apiServer, namespace string) {
	first := s.create(namespace, "a", "", nil)
	second := s.create(namespace, "b", "", nil)
	first.Spec.Notes = []string{"changed"}
	changed := s.update(first)
	s.remove(second)

	w := s.mustWatch(namespace, metav1.ListOptions{ResourceVersion: first.ResourceVersion})
	requireEvent(t, w, watch.Added, "b", second.ResourceVersion)
	requireEvent(t, w, watch.Modified, "a", changed.ResourceVersion)
	deleted := next(t, w)
	require.Equal(t, watch.Deleted, deleted.Type)
	require.Greater(t, resourceVersion(t, deleted.Object.(*v1.Widget).ResourceVersion), resourceVersion(t, changed.ResourceVersion))
}

// testSelectors moves a widget between the selections of watches and lists.
func testSelectors(t *testing.T, s *apiServer, namespace string) {
	before := s.create(namespace, "before", "north", map[string]string{"colour": "red"})
	from := before.ResourceVersion
	north := s.mustWatch(namespace, metav1.ListOptions{ResourceVersion: from, FieldSelector: "spec.nodeName=north"})
	south := s.mustWatch(namespace, metav1.ListOptions{ResourceVersion: from, FieldSelector: "spec.nodeName=south"})
	red := s.mustWatch(namespace, metav1.ListOptions{ResourceVersion: from, LabelSelector: "colour=red"})

	widget := s.create(namespace, "w", "north", map[string]string{"colour": "red"})
	requireEvent(t, north, watch.Added, "w", widget.ResourceVersion)
	requireEvent(t, red, watch.Added, "w", widget.ResourceVersion)
	widget.Spec.NodeName = "south"
	widget = s.update(widget)
	requireEvent(t, north, watch.Deleted, "w", widget.ResourceVersion)
	requireEvent(t, south, watch.Added, "w", widget.ResourceVersion)
	requireEvent(t, red, watch.Modified, "w", widget.ResourceVersion)
	widget.Labels = nil
	widget = s.update(widget)
	requireEvent(t, south, watch.Modified, "w", widget.ResourceVersion)
	requireEvent(t, red, watch.Deleted, "w", widget.ResourceVersion)

	for selector, want := range map[string][]string{"spec.nodeName=north": {"before"}, "spec.nodeName=south": {"w"}, "metadata.name=w": {"w"}} {
		list, err := s.list(namespace, metav1.ListOptions{FieldSelector: selector})
		require.NoError(t, err)
		require.Equal(t, want, namesOf(list), selector)
	}
	list, err := s.list(namespace, metav1.ListOptions{LabelSelector: "colour=red"})
	require.NoError(t, err)
	require.Equal(t, []string{"before"}, namesOf(list))
	_, err = s.list(namespace, metav1.ListOptions{FieldSelector: "spec.size=1"})
	require.True(t, apierrors.IsBadRequest(err), "%v", err)
	require.ErrorContains(t, err, `found "spec.size"`)
}

// testApply applies on the server, for which that needs the OpenAPI definitions of all fields.
func testApply(t *testing.T, s *apiServer, namespace string) {
	s.create(namespace, "w", "north", nil)
	apply := `{"apiVersion": "example.watchsim.dev/v1", "kind": "Widget", "spec": {"size": 4, "notes": ["heavy"]}}`
	widget := &v1.Widget{}
	require.NoError(t, s.widgets.Patch(types.ApplyPatchType).Namespace(namespace).Resource("widgets").Name("w").
		Param("fieldManager", "tester").Body([]byte(apply)).Do(t.Context()).Into(widget))
	require.Equal(t, v1.WidgetSpec{NodeName: "north", Size: 4, Notes: []string{"heavy"}}, widget.Spec)
	owners := map[string]string{}
	for _, entry := range widget.ManagedFields {
		owners[string(entry.Operation)] = entry.FieldsV1.GetRawString()
	}
	require.Equal(t, map[string]string{"Apply": `{"f:spec":{"f:notes":{},"f:size":{}}}`, "Update": `{"f:spec":{"f:nodeName":{}}}`}, owners)
}

// testValidation sends widgets that the server rejects.
func testValidation(t *testing.T, s *apiServer, namespace string) {
	for message, spec := range map[string]v1.WidgetSpec{
		"spec.size":     {Size: -1},
		"spec.nodeName": {NodeName: "No Name"},
	} {
		widget := &v1.Widget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "w"}, Spec: spec}
		err := s.widgets.Post().Namespace(namespace).Resource("widgets").Body(widget).Do(t.Context()).Error()
		require.True(t, apierrors.IsInvalid(err), "%v", err)
		require.ErrorContains(t, err, message)
	}
	widget := s.create(namespace, "w", "", nil)
	s.update(widget)
	widget.Spec.Size = 1
	s.update(widget)
	err := s.widgets.Put().Namespace(namespace).Resource("widgets").Name("w").Body(widget).Do(t.Context()).Error()
	require.True(t, apierrors.IsConflict(err), "%v", err)
}

// resourceVersion reads a decimal number, as resourceVersions are.
func resourceVersion(t *testing.T, decimal string) uint64 {
	t.Helper()
	number, err := strconv.ParseUint(decimal, 10, 64)
	require.NoError(t, err)
	return number
}

// testDiscovery reads what kubectl reads from an unknown server.
func testDiscovery(t *testing.T, s *apiServer, _ string) {
	client, err := discovery.NewDiscoveryClientForConfig(s.config)
	require.NoError(t, err)
	resources, err := restmapper.GetAPIGroupResources(client)
	require.NoError(t, err)
	mapping, err := restmapper.NewDiscoveryRESTMapper(resources).RESTMapping(v1.Kind.GroupKind())
	require.NoError(t, err)
	require.Equal(t, v1.Resource, mapping.Resource)
	require.Equal(t, meta.RESTScopeNameNamespace, mapping.Scope.Name())

	openAPI := s.get("/openapi/v3/apis/example.watchsim.dev/v1")
	require.Contains(t, openAPI, `"dev.watchsim.example.v1.WidgetSpec"`)
	require.Contains(t, openAPI, `"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"`)
	require.Contains(t, s.get("/openapi/v2"), `"dev.watchsim.example.v1.WidgetSpec"`)
}

// TestDecorated inspects the storage below the registry for each value of --watch-cache.
func TestDecorated(t *testing.T) {
	etcd := startEtcd(t)
	for _, test := range []struct {
		cache WatchCache
		sizes []string
		want  string
	}{
		{cache: Watchsim, want: "*cacher.Cacher"},
		{cache: Watchsim, sizes: []string{"widgets#10"}, want: "*cacher.Cacher"},
		{cache: Watchsim, sizes: []string{"widgets.example.watchsim.dev#0"}, want: "*etcd3."},
		{cache: Kubernetes, want: "*cacher.CacheDelegator"},
		{cache: Kubernetes, sizes: []string{"widgets#0"}, want: "*etcd3."},
		{cache: Off, want: "*etcd3."},
	} {
		storage := NewOptions().Recommended.Etcd
		storage.StorageConfig.Transport.ServerList = []string{etcd.Endpoint()}
		sizes, err := parseSizes(test.sizes)
		require.NoError(t, err)
		getter := &genericoptions.StorageFactoryRestOptionsFactory{
			Options:        *storage,
			StorageFactory: &genericoptions.SimpleStorageFactory{StorageConfig: storage.StorageConfig},
		}
		store, err := newWidgetStore(decorated{getter, test.cache, sizes})
		require.NoError(t, err)
		found := fmt.Sprintf("%T", store.Storage.Storage)
		require.True(t, strings.HasPrefix(found, test.want), "%v: %s", test, found)
		store.Destroy()
	}
}

// TestMetrics reads what the server reports about either cache, under the same
// names. They are counted for the whole process, so no other server runs meanwhile.
func TestMetrics(t *testing.T) {
	etcd := startEtcd(t)
	for _, watchCache := range []WatchCache{Watchsim, Kubernetes} {
		t.Run(string(watchCache), func(t *testing.T) {
			s := start(t, watchCache, etcd, nil)
			labels := `\{group="example.watchsim.dev",resource="widgets"\}`
			received := regexp.MustCompile(`(?m)^apiserver_watch_cache_events_received_total` + labels + ` (\d+)$`)
			count := func() uint64 {
				if found := received.FindStringSubmatch(s.get("/metrics")); found != nil {
					return resourceVersion(t, found[1])
				}
				return 0
			}
			before := count()
			s.remove(s.create("n", "w", "", nil))
			require.Eventually(t, func() bool { return count() == before+2 }, patience, 10*time.Millisecond)
			require.Regexp(t, `(?m)^apiserver_watch_cache_resource_version`+labels, s.get("/metrics"))
			s.stop()
		})
	}
}
