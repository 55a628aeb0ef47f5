package recorder

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/watchsim/watchsim/cacher/examples/apiserver/server"
	"github.com/watchsim/watchsim/traces/importer"
)

func rv(t *testing.T, object *unstructured.Unstructured) int64 {
	t.Helper()
	revision, err := strconv.ParseInt(object.GetResourceVersion(), 10, 64)
	require.NoError(t, err)
	return revision
}

// streamed waits until the stream of a server has delivered a revision.
func streamed(t *testing.T, o *Observation, server string, revision int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, h, _, err := o.History()
		require.NoError(t, err)
		for _, s := range h.Streams {
			for _, event := range s.Events {
				if s.Server == server && event.RV >= revision {
					return true
				}
			}
		}
		return false
	}, patience, 20*time.Millisecond, "%s does not bring %d", server, revision)
}

// probed waits for a number of further probes of server b.
func probed(t *testing.T, o *Observation, more int) {
	t.Helper()
	count := func() int {
		_, h, _, err := o.History()
		require.NoError(t, err)
		probes := 0
		for _, op := range h.Operations {
			if op.Server == "b" && op.Client == "prober" {
				probes++
			}
		}
		return probes
	}
	before := count()
	require.Eventually(t, func() bool { return count() >= before+more }, patience, 20*time.Millisecond)
}

// TestRealServersPass writes through two real API servers with different watch caches
// over one etcd, records both, and judges everything: the audit logs, etcd's own output,
// and the recording.
func TestRealServersPass(t *testing.T) {
	c := newCluster(t)
	a := c.start("a", server.Watchsim, c.etcd.Endpoint())
	b := c.start("b", server.Kubernetes, c.etcd.Endpoint())
	atA, atB := newWriter(t, a), newWriter(t, b)
	first := atA.create("first")
	o, err := Start(t.Context(), Config{Servers: []Server{{"a", a}, {"b", b}}, Resource: "widgets", ProbeEvery: 100 * time.Millisecond})
	require.NoError(t, err)
	streamed(t, o, "a", rv(t, first))
	streamed(t, o, "b", rv(t, first))

	for size := int64(2); size < 8; size++ {
		first = atA.resize(first, size)
		atB.create("widget-" + strconv.FormatInt(size, 10))
	}
	_, err = atB.widgets.Update(t.Context(), outdated(first), metav1.UpdateOptions{})
	require.Error(t, err, "a conflict")
	_, err = atB.widgets.Get(t.Context(), "first", metav1.GetOptions{})
	require.NoError(t, err)
	atB.remove("widget-2")
	_, err = atA.widgets.Get(t.Context(), "widget-2", metav1.GetOptions{})
	require.Error(t, err, "nothing is found")
	_, err = atA.widgets.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	last := rv(t, atA.create("last"))
	streamed(t, o, "a", last)
	streamed(t, o, "b", last)
	probed(t, o, 2)
	c.record(o, last)
	requireRedacted(t, c.path("recorded.jsonl"))

	v := c.verdict("all.jsonl", c.files)
	require.EqualValues(t, "passed", v.Outcome, "%s", v.Report())
	require.Contains(t, c.notes[0], fmt.Sprintf("%d requests that an imported history already has", c.recorded))
	// On a busy machine one server may lag behind the other briefly.
	for _, observation := range v.Observations {
		require.Contains(t, observation, "TimeTravel: ")
		require.Contains(t, observation, "at RV 0")
	}
	require.GreaterOrEqual(t, v.Counts.Writes, 14)
	require.GreaterOrEqual(t, v.Counts.Events, 2*14)
	require.GreaterOrEqual(t, v.Counts.Gets, 2)
	require.Positive(t, v.Counts.FailedWrites)
	require.GreaterOrEqual(t, v.Counts.Changes, 15)

	// Each part by itself passes, too.
	for _, kind := range []importer.Kind{importer.History, importer.Audit} {
		v := c.verdict("without-etcd-"+string(kind)+".jsonl", ofKind(c.files, kind))
		require.EqualValues(t, "passed", v.Outcome, "%s", v.Report())
		require.Positive(t, v.Counts.Lists)
	}
}

// outdated makes an update of a widget fail.
func outdated(widget *unstructured.Unstructured) *unstructured.Unstructured {
	old := widget.DeepCopy()
	old.SetResourceVersion("1")
	return old
}

func ofKind(files []importer.File, kind importer.Kind) []importer.File {
	return slices.DeleteFunc(slices.Clone(files), func(file importer.File) bool { return file.Kind != kind })
}

// requireRedacted requires that no content is in a recorded file.
func requireRedacted(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), `"name":"first"`)
	for _, content := range []string{"confidential", "notes", "size"} {
		require.NotContains(t, string(text), content)
	}
}

// TestAStaleServerIsCaught freezes the second server's watch on etcd. The server
// continues to serve reads at resourceVersion 0, like the API server of
// kubernetes/kubernetes #59848, so that its clients go back in time.
func TestAStaleServerIsCaught(t *testing.T) {
	for _, cache := range []server.WatchCache{server.Watchsim, server.Kubernetes} {
		t.Run(string(cache), func(t *testing.T) {
			c := newCluster(t)
			proxy := startProxy(t, c.etcd.Endpoint())
			a := c.start("a", server.Kubernetes, c.etcd.Endpoint())
			b := c.start("b", cache, proxy.address)
			w := newWriter(t, a)
			moved := w.create("moved")
			o, err := Start(t.Context(), Config{Servers: []Server{{"a", a}, {"b", b}}, Resource: resource, ProbeEvery: 100 * time.Millisecond})
			require.NoError(t, err)
			streamed(t, o, "b", rv(t, moved))
			probed(t, o, 1)

			proxy.frozen.Store(true)
			w.remove("moved")
			last := rv(t, w.create("moved"))
			streamed(t, o, "a", last)
			probed(t, o, 4) // the first may have been asked before anybody saw the change
			c.record(o, last)

			for _, files := range [][]importer.File{c.files, ofKind(c.files, importer.History), ofKind(c.files, importer.Audit)} {
				v := c.verdict(strconv.Itoa(len(files))+".jsonl", files)
				require.NotEmpty(t, v.Observations, "time travel")
				require.Contains(t, v.Observations[0], "TimeTravel: ")
				require.Contains(t, v.Observations[0], " on b")
				require.Len(t, v.Stale, 2)
				at := map[string]int{v.Stale[0].Server: 0, v.Stale[1].Server: 1}
				a, b := v.Stale[at["a"]], v.Stale[at["b"]]
				require.Zero(t, a.StaleReads, "%s", v.Report())
				require.GreaterOrEqual(t, b.StaleReads, 3)
				require.Equal(t, 2, b.Worst.Missed)
				require.Less(t, b.Worst.RV, last)
				require.True(t, b.Worst.Allowed)
				require.EqualValues(t, -1, b.Period.Fresh, "it never was fresh again")
			}
		})
	}
}

// TestALostEventIsCaught loses one event between etcd and the second server. Later
// events arrive there, so no client notices; but two servers that disagree cannot both
// be right.
func TestALostEventIsCaught(t *testing.T) {
	c := newCluster(t)
	proxy := startProxy(t, c.etcd.Endpoint())
	a := c.start("a", server.Kubernetes, c.etcd.Endpoint())
	b := c.start("b", server.Kubernetes, proxy.address)
	w := newWriter(t, a)
	first := w.create("first")
	o, err := Start(t.Context(), Config{Servers: []Server{{"a", a}, {"b", b}}, Resource: "widgets", ProbeEvery: 100 * time.Millisecond})
	require.NoError(t, err)
	streamed(t, o, "b", rv(t, first))

	proxy.loseNext.Store(true)
	lost := rv(t, w.resize(first, 2))
	require.Eventually(t, func() bool { return !proxy.loseNext.Load() }, patience, 10*time.Millisecond)
	last := rv(t, w.create("last"))
	streamed(t, o, "a", last)
	streamed(t, o, "b", last)
	probed(t, o, 2)
	c.record(o, last)

	for _, files := range [][]importer.File{c.files, ofKind(c.files, importer.History)} {
		v := c.verdict(strconv.Itoa(len(files))+".jsonl", files)
		require.EqualValues(t, "failed", v.Outcome)
		broken := map[string]bool{}
		for _, violation := range v.Violations {
			broken[violation.Guarantee] = true
			require.Contains(t, violation.Text, " on b", "a is right")
			require.Contains(t, violation.Text, strconv.FormatInt(lost, 10))
		}
		require.True(t, broken["Reliable"], "the stream lacks an event: %v", broken)
		require.True(t, broken["Exact-state"] || broken["Any"], "lists lack it, too: %v", broken)
	}
}
