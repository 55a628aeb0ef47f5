package traces

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

// TestInvalidHistories reads the example with one flaw. Each error says which line,
// which record and field, what was expected there, and what was found.
func TestInvalidHistories(t *testing.T) {
	for _, row := range []struct {
		change func(*model.History)
		says   string
	}{
		{func(h *model.History) { h.End = -1 }, "line 42, the end record, field end: expected a time from 0 on, found -1"},
		{func(h *model.History) { h.Healed = h.End + 1 }, "line 42, the end record, field healed: expected a time from 0 to the end at 100000000, found 100000001"},
		{func(h *model.History) { h.Truth.Revision = -7 }, "line 42, the end record, field revision: expected etcd's last revision, or 0 if it is unknown, found -7"},
		{func(h *model.History) { h.Truth.Revision = 5 }, "line 5, the change to default/b, field rv: expected at most 5, the last revision that the end record names, found 6"},
		{func(h *model.History) { h.Truth.Revision = 0 }, "line 2, the change to default/a, field rv: expected at most 0, the last revision that the end record names, found 2"},
		{func(h *model.History) { h.Truth.Changes[2].RV = 3 }, "line 4, the change to default/a, field rv: expected a revision above 3, that of the previous change, found 3"},
		{func(h *model.History) { h.Truth.Changes[0].RV = -2 }, "line 2, the change to default/a, field rv: expected a revision above 0, that of the previous change, found -2"},
		{func(h *model.History) { h.Truth.Changes[0].Expired = true }, "line 2, the change to default/a, field expired: expected false unless deleted is set, found true"},
		{func(h *model.History) { h.Truth.Changes[0].Object.Name = "" }, `line 2, the change to default/, field object.name: expected the name of an object, found ""`},
		{func(h *model.History) { h.Truth.Compactions[0].RV = 0 }, "line 6, compaction 1, field rv: expected a revision above 0, that of the previous compaction, found 0"},
		{func(h *model.History) { h.Truth.Compactions[0].RV = 8 }, "line 6, compaction 1, field rv: expected at most 7, the last revision that the end record names, found 8"},
		{func(h *model.History) { h.Truth.Compactions[0].Time = h.End + 1 }, "line 6, compaction 1, field time: expected a time from 0 to the end at 100000000, or -1 if it is unknown, found 100000001"},
		{func(h *model.History) { h.Faults[0].Name = "" }, `line 7, fault 1, field name: expected the name of a fault, found ""`},
		{func(h *model.History) { h.Faults[0].Begin = h.End + 1 }, "line 7, fault 1, field begin: expected a time from 0 to the end at 100000000, found 100000001"},
		{func(h *model.History) { h.Faults[0].End = 1 }, "line 7, fault 1, field end: expected a time from 50000000, its begin, to the end at 100000000, found 1"},

		{func(h *model.History) { h.Operations[0].ID = 0 }, "line 9, operation 0, field id: expected a number from 1 on, found 0"},
		{func(h *model.History) { h.Operations[1].ID = 1 }, "line 10, operation 1, field id: expected a number that no earlier operation has, found 1"},
		{func(h *model.History) { h.Operations[0].Client = "" }, `line 9, operation 1, field client: expected the name of a client, found ""`},
		{func(h *model.History) { h.Operations[0].Server = "" }, `line 9, operation 1, field server: expected the name of a server, found ""`},
		{func(h *model.History) { h.Operations[0].Call = -5 }, "line 9, operation 1, field call: expected a time from 0 to the end at 100000000, found -5"},
		{func(h *model.History) { h.Operations[6].Call = h.End + 1 }, "line 15, operation 8, field call: expected a time from 0 to the end at 100000000, found 100000001"},
		{func(h *model.History) { h.Operations[0].Return = 5 }, "line 9, operation 1, field return: expected a time from 1000000, its call, to the end at 100000000, or -1 for never, found 5"},
		{func(h *model.History) { h.Operations[0].Return = h.End + 1 }, "line 9, operation 1, field return: expected a time from 1000000, its call, to the end at 100000000, or -1 for never, found 100000001"},
		{func(h *model.History) { h.Operations[0].Kind = "upsert" }, `line 9, operation 1, field kind: expected create, update, delete, get or list, found "upsert"`},
		{func(h *model.History) { h.Operations[0].Object = nil }, `line 9, operation 1, field object: expected the object that the create writes, with its name, found "none"`},
		{func(h *model.History) { h.Operations[6].Scope.Name = "" }, `line 15, operation 8, field scope.name: expected the name of the object to delete, found ""`},
		{func(h *model.History) { h.Operations[4].Object.Value = "first" }, `line 13, operation 6, field object.value: expected a value that no other write of default/a has, such as operation 1, found "first"`},
		{func(h *model.History) { h.Operations[2].Match = "Roughly" }, `line 11, operation 3, field match: expected Exact, NotOlderThan or nothing, found "Roughly"`},
		{func(h *model.History) { h.Operations[2].RV = -2 }, "line 11, operation 3, field rv: expected a resourceVersion, 0, or -1 for none, found -2"},
		{func(h *model.History) { h.Operations[4].Precondition = -2 }, "line 13, operation 6, field precondition: expected a resourceVersion, or 0 for none, found -2"},
		{func(h *model.History) { h.Operations[4].Patch = map[string]string{"app": "a"} }, "line 13, operation 6, field patch: expected nothing unless touch is set, found map[app:a]"},
		{func(h *model.History) { h.Operations[2].Limit = -1 }, "line 11, operation 3, field limit: expected the most items of a page, or 0 for no limit, found -1"},
		{func(h *model.History) { h.Operations[5].Err = "Teapot" }, `line 14, operation 7, field err: expected NotFound, AlreadyExists, Conflict, Expired, TooLarge, Invalid, TooMany, Unknown, Unavailable or nothing, found "Teapot"`},
		{func(h *model.History) { h.Operations[2].ResultRV = -1 }, "line 11, operation 3, field resultRV: expected a resourceVersion, or 0 for none, found -1"},
		{func(h *model.History) { h.Operations[2].Remaining = -2 }, "line 11, operation 3, field remaining: expected a number of items, or -1 if the server gave none, found -2"},
		{func(h *model.History) { h.Operations[3].Objects[0].RV = -3 }, "line 12, operation 4, field objects[0].rv: expected a resourceVersion, or 0 for none, found -3"},
		{func(h *model.History) { h.Operations[3].Continues = 99 }, "line 12, operation 4, field continues: expected the id of another list, found 99"},
		{func(h *model.History) { h.Operations[3].Continues = 1 }, "line 12, operation 4, field continues: expected the id of another list, found 1"},
		{func(h *model.History) { h.Operations[3].Continues = 4 }, "line 12, operation 4, field continues: expected the id of another list, found 4"},

		{func(h *model.History) { number(&h.Streams[3], 0) }, "line 30, stream 0, field id: expected a number from 1 on, found 0"},
		{func(h *model.History) { h.Streams[1].Client = "" }, `line 24, stream 9, field client: expected the name of a client, found ""`},
		{func(h *model.History) { h.Streams[0].Server = "" }, `line 19, stream 5, field server: expected the name of a server, found ""`},
		{func(h *model.History) { h.Streams[3].Call = h.End + 1 }, "line 30, stream 11, field call: expected a time from 0 to the end at 100000000, found 100000001"},
		{func(h *model.History) { h.Streams[0].Return = 5 }, "line 19, stream 5, field return: expected a time from 20000000, its call, to the end at 100000000, or -1 for never, found 5"},
		{func(h *model.History) { h.Streams[3].Closed = 66_000_001 }, "line 30, stream 11, field closed: expected a time from 69000000, when it was opened, to the end at 100000000, or -1 for never, found 66000001"},
		{func(h *model.History) { h.Streams[0].RV = -2 }, "line 19, stream 5, field rv: expected a resourceVersion, 0, or -1 for none, found -2"},
		{func(h *model.History) { h.Streams[0].Timeout = -2 }, "line 19, stream 5, field timeout: expected nanoseconds, or 0 for none, found -2"},
		{func(h *model.History) { h.Streams[3].Err = "Teapot" }, `line 30, stream 11, field err: expected NotFound, AlreadyExists, Conflict, Expired, TooLarge, Invalid, TooMany, Unknown, Unavailable or nothing, found "Teapot"`},
		{func(h *model.History) { h.Streams[0].Err = model.Expired }, `line 19, stream 5, field err: expected nothing, because events arrived, found "Expired"`},
		{func(h *model.History) { h.Streams[0].Reason = "boredom" }, `line 19, stream 5, field reason: expected client, server, error, connection or nothing, found "boredom"`},
		{func(h *model.History) { h.Streams[1].ResumesStream = 99 }, "line 24, stream 9, field resumesStream: expected the id of another stream, found 99"},
		{func(h *model.History) { h.Streams[1].ResumesStream = 9 }, "line 24, stream 9, field resumesStream: expected the id of another stream, found 9"},
		{func(h *model.History) { h.Streams[2].ResumesList = 1 }, "line 26, stream 10, field resumesList: expected the id of a list, found 1"},
		{func(h *model.History) { h.Streams[0].Events[0].Time = 19_999_999 }, "line 20, event 1 of stream 5, field time: expected a time from 20000000, the call of its stream, to the end at 100000000, found 19999999"},
		{func(h *model.History) { h.Streams[0].Events[2].Time = 21_000_000 }, "line 22, event 3 of stream 5, field time: expected a time from 22000000, that of the event before it, to the end at 100000000, found 21000000"},
		{func(h *model.History) { h.Streams[1].Events[0].Time = h.End + 1 }, "line 25, event 1 of stream 9, field time: expected a time from 55000000, the call of its stream, to the end at 100000000, found 100000001"},
		{func(h *model.History) { h.Streams[0].Events[3].Time = 50_000_001 }, "line 23, event 4 of stream 5, field time: expected a time not after its stream closed at 50000000, found 50000001"},
		{func(h *model.History) { h.Streams[0].Events[0].Type = "" }, `line 20, event 1 of stream 5, field type: expected ADDED, MODIFIED, DELETED, BOOKMARK, ERROR, or what else the server sent, found ""`},
		{func(h *model.History) { h.Streams[0].Events[0].RV = -1 }, "line 20, event 1 of stream 5, field rv: expected a resourceVersion, or 0 for none, found -1"},
		{func(h *model.History) { h.Streams[0].Events[0].Object.RV = -1 }, "line 20, event 1 of stream 5, field object.rv: expected a resourceVersion, or 0 for none, found -1"},
		{func(h *model.History) { h.Streams[2].Events[2].Err = "Teapot" }, `line 29, event 3 of stream 10, field err: expected NotFound, AlreadyExists, Conflict, Expired, TooLarge, Invalid, TooMany, Unknown, Unavailable or nothing, found "Teapot"`},

		{func(h *model.History) { h.Informers[0].Client = "" }, `line 34, informer 1, field client: expected the name of a client, found ""`},
		{func(h *model.History) { h.Informers[0].Server = "" }, `line 34, informer 1, field server: expected the name of a server, found ""`},
		{func(h *model.History) { h.Informers[0].LastSyncRV = -1 }, "line 34, informer 1, field lastSyncRV: expected a resourceVersion, or 0 for none, found -1"},
		{func(h *model.History) { h.Informers[0].Objects[0].RV = -1 }, "line 34, informer 1, field objects[0].rv: expected a resourceVersion, or 0 for none, found -1"},
		{func(h *model.History) { h.Informers[0].Notifications[0].Object.RV = -1 }, "line 34, informer 1, field notifications[0].object.rv: expected a resourceVersion, or 0 for none, found -1"},
		{func(h *model.History) { h.Informers[0].Notifications[1].Type = model.Bookmark }, `line 34, informer 1, field notifications[1].type: expected ADDED, MODIFIED or DELETED, found BOOKMARK`},
		{func(h *model.History) { h.Informers[0].Notifications[2].Time = 22_000_000 }, "line 34, informer 1, field notifications[2].time: expected a time from 23000000, that of the previous one, to the end at 100000000, found 22000000"},
		{func(h *model.History) { h.Censuses[0].Phase = "lunch" }, `line 35, census 1, field phase: expected serving, left or stopped, found "lunch"`},
		{func(h *model.History) { h.Censuses[0].Server = "" }, `line 35, census 1, field server: expected the name of a server, found ""`},
		{func(h *model.History) { h.Censuses[0].Time = -1 }, "line 35, census 1, field time: expected a time from 0 on, found -1"},
		{func(h *model.History) { h.Censuses[0].Revision = -1 }, "line 35, census 1, field revision: expected etcd's revision, or 0 if it is unknown, found -1"},
		{func(h *model.History) { h.Censuses[0].Revision = 8 }, "line 35, census 1, field revision: expected at most 7, the last revision that the end record names, found 8"},
		{func(h *model.History) {
			again := h.Censuses[0]
			again.Phase, again.Server, again.Time = model.Serving, "apiserver-1", again.Time+1
			h.Censuses = append(h.Censuses, again)
		}, `line 36, census 2, field phase: expected left or stopped, because another census says that all clients had left for good at 90000000, found "serving"`},
		{func(h *model.History) { h.Censuses[0].Goroutines = -2 }, "line 35, census 1, field goroutines: expected a count, or -1 if it is unknown, found -2"},
		{func(h *model.History) { h.Leaders[0].Time = h.Leaders[1].Time + 1 }, "line 37, leader 2, field time: expected a time from 80000001, that of the previous leader, to the end at 100000000, found 80000000"},
		{func(h *model.History) { h.Leaders[1].Time = h.End + 1 }, "line 37, leader 2, field time: expected a time from 0, that of the previous leader, to the end at 100000000, found 100000001"},
		{func(h *model.History) { h.Leaders[0].Term = -1 }, "line 36, leader 1, field term: expected a term, or 0 without a leader, found -1"},
		{func(h *model.History) { h.Leaders[1].Term = 3 }, "line 37, leader 2, field term: expected 0, because there is no leader, found 3"},
		{func(h *model.History) { h.Leaders[1].Leaderless = -1 }, "line 37, leader 2, field leaderless: expected a number of members, found -1"},
		{func(h *model.History) { h.Windows[0].Server = "" }, `line 38, window 1, field server: expected the name of a server, found ""`},
		{func(h *model.History) { h.Windows[2].Time = 5 }, "line 40, window 3, field time: expected a time from 31000000, that of its server's previous window, to the end at 100000000, found 5"},
		{func(h *model.History) { h.Windows[0].Filling = -1 }, "line 38, window 1, field filling: expected a number from 1 on, or 0 while the cache cannot be read, found -1"},
		{func(h *model.History) { h.Windows[0].Since = -1 }, "line 38, window 1, field since: expected a resourceVersion, found -1"},
		{func(h *model.History) { h.Windows[2].Newest = 5 }, "line 40, window 3, field newest: expected 0, because the cache cannot be read, found 5"},
	} {
		t.Run(row.says, func(t *testing.T) {
			h := example()
			row.change(h)
			text := written(t, Header{}, h)
			_, got, err := ReadValidHistory(strings.NewReader(text))
			require.Nil(t, got)
			require.ErrorIs(t, err, ErrBadRecord)
			require.EqualError(t, err, "the history holds a bad record: "+row.says)
			_, place, _ := strings.Cut(row.says, ", ")
			require.EqualError(t, Validate(h), "the history holds a bad record: "+place)
		})
	}
}

func number(s *model.Stream, id int) {
	s.ID = id
	for i := range s.Events {
		s.Events[i].Stream = id
	}
}

// The reader reports these two before validation.
func TestValidateSeesWhatFilesCannotHold(t *testing.T) {
	h := example()
	number(&h.Streams[1], 5)
	require.EqualError(t, Validate(h), "the history holds a bad record: stream 5, field id: expected a number that no earlier stream has, found 5")
	h = example()
	h.Streams[0].Events[1].Stream = 9
	require.EqualError(t, Validate(h), "the history holds a bad record: event 2 of stream 5, field stream: expected 5, the stream that holds it, found 9")
}

// TestHistoriesThatLackSomething has valid histories: the format says what may be unknown.
func TestHistoriesThatLackSomething(t *testing.T) {
	for name, change := range map[string]func(*model.History){
		"no truth":                   func(h *model.History) { h.Truth = model.Truth{} },
		"a time of compaction":       func(h *model.History) { h.Truth.Compactions[0].Time = model.Pending },
		"responses":                  func(h *model.History) { h.Operations[0].Return = model.Pending },
		"the opening of a stream":    func(h *model.History) { h.Streams[3].Return = model.Pending },
		"reasons":                    func(h *model.History) { h.Streams[0].Reason = "" },
		"UIDs":                       func(h *model.History) { h.Truth.Changes[0].Object.UID = "" },
		"everything but the end":     func(h *model.History) { *h = model.History{End: 60} },
		"an object without its type": func(h *model.History) { h.Streams[0].Events[0].Object = nil },
		"an unknown event type":      func(h *model.History) { h.Streams[0].Events[0].Type = "RUMOUR" },
		"events in the future":       func(h *model.History) { h.Streams[0].Events[0].RV = 1_000_000 },
		"the order of censuses, and clients of one server": func(h *model.History) {
			h.Censuses = append(h.Censuses,
				model.Census{Time: h.End + 5, Phase: model.Stopped, Server: "apiserver-9"},
				model.Census{Time: 1, Phase: model.Serving, Server: "apiserver-9", Revision: 2, Streams: model.Uncounted})
		},
		"a window ahead of etcd, an inverted one, and another server's window in between": func(h *model.History) {
			h.Windows[1].Newest, h.Windows[1].Since = 1_000, 2_000
			h.Windows = append(h.Windows, model.CacheWindow{Time: 1, Server: "apiserver-9", Filling: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := example()
			change(h)
			require.NoError(t, Validate(h))
			_, _, err := ReadValidHistory(strings.NewReader(written(t, Header{}, h)))
			require.NoError(t, err)
		})
	}
}

// TestMissingFields removes every required field of every record, and replaces it with
// null.
func TestMissingFields(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(written(t, Header{}, example())), "\n")
	tried := 0
	for i, line := range lines[1:] {
		kind, _, _ := strings.Cut(strings.TrimPrefix(line, `{"kind":"`), `"`)
		for _, field := range fieldsOf(recordTypes[kind]) {
			if !field.required {
				continue
			}
			for _, null := range []bool{false, true} {
				if null && field.isList {
					continue // null is how an empty list may be written
				}
				tried++
				damaged := slices.Clone(lines)
				damaged[i+1] = without(t, line, field.name, null)
				_, _, err := ReadValidHistory(strings.NewReader(strings.Join(damaged, "\n")))
				require.EqualError(t, err, fmt.Sprintf("the history holds a bad record: line %d lacks the field %s, which a record of kind %s needs", i+2, field.name, kind))
			}
		}
	}
	require.Greater(t, tried, 200)
}

// without removes a field of a record, or makes it null.
func without(t *testing.T, line, field string, null bool) string {
	var record struct {
		Kind string                     `json:"kind"`
		Data map[string]json.RawMessage `json:"data"`
	}
	require.NoError(t, json.Unmarshal([]byte(line), &record))
	require.Contains(t, record.Data, field)
	delete(record.Data, field)
	if null {
		record.Data[field] = json.RawMessage("null")
	}
	damaged, err := json.Marshal(record)
	require.NoError(t, err)
	return string(damaged)
}

func TestMissingFieldsWithin(t *testing.T) {
	text := written(t, Header{}, example())
	for _, row := range []struct{ from, to, says string }{
		{`{"kind":"change","data":{"rv":2,"object":{"namespace":"default",`, `{"kind":"change","data":{"rv":2,"object":{`, "line 2 lacks the field object.namespace, which a record of kind change needs"},
		{`"objects":[{"namespace":"default","name":"b","value":"second",`, `"objects":[{"namespace":"default","name":"b",`, "line 12 lacks the field objects[0].value, which a record of kind operation needs"},
		{`"data":{"rv":4,"time":60000000}`, `"data":null`, "line 6 has data that does not fit the kind compaction: expected an object, found null"},
		{`"data":{"rv":4,"time":60000000}`, `"data":[]`, "line 6 has data that does not fit the kind compaction: its data: expected an object, found array"},
		{`"data":{"rv":4,"time":60000000}`, `"data":{"rv":"4","time":60000000}`, "line 6 has data that does not fit the kind compaction: field rv: expected a whole number of 64 bits, found string"},
		{`"data":{"rv":4,"time":60000000}`, `"data":{"rv":4.5,"time":60000000}`, "line 6 has data that does not fit the kind compaction: field rv: expected a whole number of 64 bits, found number 4.5"},
		{`"data":{"rv":4,"time":60000000}`, `"data":{"rv":40000000000000000000,"time":60000000}`, "line 6 has data that does not fit the kind compaction: field rv: expected a whole number of 64 bits, found number 40000000000000000000"},
		{`"data":{"rv":4,"time":60000000}`, `"data":{"RV":4,"time":60000000}`, "line 6 lacks the field rv, which a record of kind compaction needs"},
		{`{"kind":"compaction",`, `{"kind":7,`, "line 6 is not a JSON record: field kind: expected a string, found number"},
	} {
		damaged := strings.Replace(text, row.from, row.to, 1)
		require.NotEqual(t, text, damaged, row.from)
		_, _, err := ReadValidHistory(strings.NewReader(damaged))
		require.EqualError(t, err, "the history holds a bad record: "+row.says)
	}
}
