package timeline

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
)

// size is the size of a generated history.
type size struct {
	changes, keys, watchers int
	// step is the time from one change to the next.
	step time.Duration
}

var (
	small = size{changes: 60, keys: 5, watchers: 4, step: time.Second}
	// large has 100,000 events.
	large = size{changes: 5000, keys: 50, watchers: 20, step: 20 * time.Millisecond}
)

// made is a history of two API servers that break nothing: one writer, and
// watchers that get every change, and a bookmark
// now and then. Contents are hashes, as importers write them, which compress badly.
func made(s size) *model.History {
	h := &model.History{}
	id := 0
	next := func() int { id++; return id }
	at := func(i int) int64 { return int64(i) * int64(s.step) }
	stored := map[string]bool{}
	for i := 1; i <= s.changes; i++ {
		rv, name := int64(i+1), fmt.Sprintf("pod-%d", i%s.keys)
		object := model.Object{Namespace: "default", Name: name, Labels: map[string]string{"app": "web"}, Value: hash(fmt.Sprint(i)), UID: "uid-" + name, RV: rv}
		kind := model.Update
		if !stored[name] {
			kind, stored[name] = model.Create, true
		}
		h.Truth.Changes = append(h.Truth.Changes, model.Change{RV: rv, Object: object})
		asked := object
		asked.RV = 0
		if kind == model.Create {
			asked.UID = ""
		}
		h.Operations = append(h.Operations, model.Operation{ID: next(), Client: "writer", Server: "apiserver-0", Kind: kind,
			Call: at(i), Return: at(i) + 1e6, Object: &asked, RV: 0, ResultRV: rv, Remaining: -1})
	}
	h.Truth.Revision = int64(s.changes + 1)
	h.Healed, h.End = at(s.changes+1), at(s.changes+1)+30e9
	for w := range s.watchers {
		stream := model.Stream{ID: next(), Client: fmt.Sprintf("watcher-%d", w), Server: fmt.Sprintf("apiserver-%d", w%2),
			Call: int64(w) * 1e6, Return: int64(w)*1e6 + 1e6, Scope: model.Scope{Namespace: "default"}, RV: 1, Bookmarks: true, Closed: model.Pending}
		before := map[string]bool{}
		for i := range h.Truth.Changes {
			object := h.Truth.Changes[i].Object
			event := model.Event{Stream: stream.ID, Time: at(i+1) + 2e6 + int64(w)*1e5, Type: model.Modified, RV: object.RV, Object: &object}
			if !before[object.Name] {
				event.Type, before[object.Name] = model.Added, true
			}
			stream.Events = append(stream.Events, event)
			if i%50 == 49 {
				stream.Events = append(stream.Events, model.Event{Stream: stream.ID, Time: event.Time, Type: model.Bookmark, RV: object.RV})
			}
		}
		h.Streams = append(h.Streams, stream)
	}
	return h
}

// withStanding adds leaders and windows of caches to a history: a step for each change
// and server.
func withStanding(h *model.History, step time.Duration) *model.History {
	h.Leaders = []model.Leader{{Member: "etcd-0", Term: 2}}
	for _, server := range []string{"apiserver-0", "apiserver-1"} {
		for _, change := range h.Truth.Changes {
			h.Windows = append(h.Windows, model.CacheWindow{Time: (change.RV-1)*int64(step) + 1e6, Server: server, Filling: 1, Since: max(1, change.RV-1000), Newest: change.RV})
		}
	}
	return h
}

// broken returns a small history in which one event never arrived, one watch was
// refused, and one list at RV 0 was older than what its client knew, with faults and
// a compaction.
func broken(t testing.TB) *model.History {
	h := made(small)
	stream := &h.Streams[1]
	require.EqualValues(t, 32, stream.Events[30].RV)
	stream.Events = append(stream.Events[:30:30], stream.Events[31:]...)
	h.Truth.Compactions = []model.Compaction{{RV: 10, Time: 20e9}}
	h.Faults = []model.Fault{
		{Name: "partition", Note: "from=apiserver-1 to=etcd-0", Begin: 29e9, End: 31e9, Processes: []string{"apiserver-1", "etcd-0"}},
		{Name: "etcd-restart", Note: "member=etcd-0", Begin: 10e9, End: 12e9, Processes: []string{"etcd-0"}},
	}
	h.Streams = append(h.Streams, model.Stream{ID: 900, Client: "watcher-0", Server: "apiserver-0", Call: 40e9, Return: 40e9 + 2e6,
		RV: 4, Err: model.TooMany, Message: "storage is (re)initializing", Closed: model.Pending})
	h.Operations = append(h.Operations, listed(h, 901, 50e9, 51), listed(h, 902, 55e9, 41))
	h.Censuses = []model.Census{{Time: 15e9, Phase: model.Serving, Server: "apiserver-0", Revision: 16, Streams: 2, Watchers: 2, EtcdWatches: 1, Goroutines: 40}}
	h.Leaders = []model.Leader{{Time: 0, Member: "etcd-0", Term: 2}, {Time: 10e9}, {Time: 12e9, Member: "etcd-1", Term: 3}}
	h.Windows = append(following(h, "apiserver-0", 1, 0), following(h, "apiserver-1", 1, 30)...)
	return h
}

// following is what a cache held that got each change at once, kept as many of them
// as it has room for (0 for all), and was reinitialised at the resourceVersion 41.
func following(h *model.History, server string, since int64, room int) []model.CacheWindow {
	windows, filling := []model.CacheWindow{{Server: server}, {Time: 5e8, Server: server, Filling: 1, Since: since, Newest: since}}, 1
	for _, change := range h.Truth.Changes {
		at := (change.RV-1)*int64(small.step) + 1e6
		if change.RV == 41 {
			windows = append(windows, model.CacheWindow{Time: at, Server: server})
			at, since, filling = at+4e8, change.RV, 2
		}
		if room > 0 {
			since = max(since, change.RV-int64(room))
		}
		windows = append(windows, model.CacheWindow{Time: at, Server: server, Filling: filling, Since: since, Newest: change.RV})
	}
	return windows
}

// listed returns a list at resourceVersion 0 that returned the state at an RV.
func listed(h *model.History, id int, call, rv int64) model.Operation {
	op := model.Operation{ID: id, Client: "reader", Server: "apiserver-1", Kind: model.List, Call: call, Return: call + 3e6,
		Scope: model.Scope{Namespace: "default"}, RV: 0, ResultRV: rv, Remaining: -1}
	for _, object := range model.NewStore(&h.Truth).List(op.Scope, op.Selector, rv) {
		op.Objects = append(op.Objects, *object)
	}
	return op
}

func judged(t testing.TB, h *model.History) Page {
	require.NoError(t, traces.Validate(h))
	page := Page{Title: "a history", About: [][2]string{{"target", "none"}}, History: h}
	if h.Truth.Revision > 0 {
		page.Verdict = linearizability.Check(h, linearizability.DefaultConfig())
	}
	return page
}

// saved writes a page and returns its path and size.
func saved(t testing.TB, page Page) (string, int) {
	var content bytes.Buffer
	require.NoError(t, Write(&content, page))
	path := filepath.Join(t.TempDir(), File)
	require.NoError(t, os.WriteFile(path, content.Bytes(), 0o600))
	return path, content.Len()
}
