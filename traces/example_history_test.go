package traces

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// exampleFile is the example of the format that the documentation names: every
// kind of record, with every field at least once.
const exampleFile = "testdata/history.jsonl"

// example is a short history that obeys the model.
func example() *model.History {
	const ms = 1_000_000
	web := map[string]string{"app": "web"}
	a2 := model.Object{Namespace: "default", Name: "a", Labels: web, Node: "n1", Value: "first", UID: "1", RV: 2}
	b3 := model.Object{Namespace: "default", Name: "b", Value: "second", UID: "2", RV: 3}
	a5, b6 := a2, b3
	a5.Value, a5.RV, b6.RV = "third", 5, 6
	request := func(object model.Object, uid, value string) *model.Object {
		object.UID, object.Value, object.RV = uid, value, 0
		return &object
	}
	all, a, b := model.Scope{Namespace: "default"}, model.Scope{Namespace: "default", Name: "a"}, model.Scope{Namespace: "default", Name: "b"}
	return &model.History{
		Truth: model.Truth{
			Changes:     []model.Change{{RV: 2, Object: a2}, {RV: 3, Object: b3}, {RV: 5, Object: a5}, {RV: 6, Deleted: true, Expired: true, Object: b6}},
			Compactions: []model.Compaction{{RV: 4, Time: 60 * ms}},
			Revision:    7,
		},
		Faults: []model.Fault{{Name: "reset", Begin: 50 * ms, End: 50 * ms, Note: "from=apiserver-0 to=reflector", Processes: []string{"apiserver-0", "reflector"}}},
		Operations: []model.Operation{
			{ID: 1, Client: "writer", Server: "apiserver-0", Kind: model.Create, Call: 1 * ms, Return: 3 * ms, Scope: a, Object: request(a2, "", "first"), ResultRV: 2, Remaining: -1},
			{ID: 2, Client: "writer", Server: "apiserver-0", Kind: model.Create, Call: 4 * ms, Return: 6 * ms, Scope: b, Object: request(b3, "", "second"), ResultRV: 3, Remaining: -1},
			{ID: 3, Client: "watcher", Server: "apiserver-0", Kind: model.List, Call: 7 * ms, Return: 8 * ms, Scope: all, RV: model.RVUnset, Limit: 1, ResultRV: 3, Objects: []model.Object{a2}, HasMore: true, Remaining: 1},
			{ID: 4, Client: "watcher", Server: "apiserver-0", Kind: model.List, Call: 9 * ms, Return: 10 * ms, Scope: all, RV: model.RVUnset, Limit: 1, Continues: 3, ResultRV: 3, Objects: []model.Object{b3}, Remaining: -1},
			{ID: 6, Client: "writer", Server: "apiserver-0", Kind: model.Update, Call: 30 * ms, Return: 33 * ms, Scope: a, Object: request(a2, "1", "third"), Precondition: 2, ResultRV: 5, Remaining: -1},
			{ID: 7, Client: "writer", Server: "apiserver-0", Kind: model.Update, Call: 34 * ms, Return: 36 * ms, Scope: a, Object: request(a2, "1", "fourth"), Precondition: 2, Err: model.Conflict, Message: "the object has been modified", Remaining: -1},
			{ID: 8, Client: "writer", Server: "apiserver-0", Kind: model.Delete, Call: 52 * ms, Return: model.Pending, Scope: b, Remaining: -1},
			{ID: 12, Client: "lister", Server: "apiserver-0", Kind: model.List, Call: 70 * ms, Return: 71 * ms, Scope: all, Selector: model.Selector{Labels: web, Node: "n1"}, RV: 3, Match: model.MatchExact, Err: model.Expired, Message: "too old resource version", Remaining: -1},
		},
		Streams: []model.Stream{
			{ID: 5, Client: "reflector", Server: "apiserver-0", Call: 20 * ms, Return: 21 * ms, Scope: all, RV: model.RVUnset, Bookmarks: true, InitialEvents: true, Closed: 50 * ms, Reason: model.ClosedByReset,
				Events: []model.Event{
					{Stream: 5, Time: 22 * ms, Type: model.Added, RV: 2, Object: &a2},
					{Stream: 5, Time: 22 * ms, Type: model.Added, RV: 3, Object: &b3},
					{Stream: 5, Time: 23 * ms, Type: model.Bookmark, RV: 3, InitialEnd: true},
					{Stream: 5, Time: 34 * ms, Type: model.Modified, RV: 5, Object: &a5},
				}},
			{ID: 9, Client: "reflector", Server: "apiserver-0", Call: 55 * ms, Return: 56 * ms, Scope: all, RV: 5, ResumesStream: 5, Consumer: "fast", Closed: model.Pending,
				Events: []model.Event{{Stream: 9, Time: 58 * ms, Type: model.Deleted, RV: 6, Object: &b6}}},
			{ID: 10, Client: "watcher", Server: "apiserver-0", Call: 25 * ms, Return: 26 * ms, Scope: all, RV: 3, ResumesList: 4, Timeout: 300_000 * ms, Mutates: true, Closed: 65 * ms, Reason: model.ClosedByError,
				Events: []model.Event{
					{Stream: 10, Time: 34 * ms, Type: model.Modified, RV: 5, Object: &a5},
					{Stream: 10, Time: 59 * ms, Type: model.Deleted, RV: 6, Object: &b6},
					{Stream: 10, Time: 65 * ms, Type: model.Error, Err: model.Expired, Message: "too old resource version"},
				}},
			{ID: 11, Client: "watcher", Server: "apiserver-0", Call: 66 * ms, Return: 69 * ms, Scope: all, RV: 99, Err: model.TooLarge, Message: "Too large resource version: 99, current: 7", Closed: 69 * ms},
		},
		Informers: []model.Informer{{Client: "reflector", Server: "apiserver-0", Scope: all, Objects: []model.Object{a5}, LastSyncRV: 6}},
		Censuses:  []model.Census{{Time: 90 * ms, Phase: model.Left, Server: "apiserver-0", Revision: 7, Watchers: model.Uncounted, EtcdWatches: 1, Goroutines: 40}},
		Leaders:   []model.Leader{{Time: 0, Member: "etcd-0", Term: 2}, {Time: 80 * ms}},
		Windows: []model.CacheWindow{
			{Time: 0, Server: "apiserver-0", Filling: 1, Since: 1, Newest: 1},
			{Time: 31 * ms, Server: "apiserver-0", Filling: 1, Since: 1, Newest: 5},
			{Time: 60 * ms, Server: "apiserver-0"},
			{Time: 64 * ms, Server: "apiserver-0", Filling: 2, Since: 6, Newest: 7},
		},
		Healed: 50 * ms, End: 100 * ms,
	}
}

func TestExampleIsThatOfTheFile(t *testing.T) {
	text := written(t, Header{Target: "kubernetes", Seed: 7, Attributes: map[string]string{"source": "an example, made by hand"}}, example())
	if *update {
		require.NoError(t, os.WriteFile(exampleFile, []byte(text), 0o644))
	}
	file, err := os.ReadFile(exampleFile)
	require.NoError(t, err)
	require.Equal(t, string(file), text, "run the test with -update if the change is meant")
	_, h, err := ReadValidHistory(strings.NewReader(text))
	require.NoError(t, err)
	require.Equal(t, example(), h)
}
