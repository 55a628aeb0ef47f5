package timeline

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// dataVersion is the version of the data passed from this package to web/src/data.ts,
// which are always of the same build.
const dataVersion = 3

// data is what a page draws, with the fields that web/src/data.ts declares. Times are
// in seconds, -1 for none. ResourceVersions and objects are indices into Versions and
// Objects.
type data struct {
	Version  int           `json:"version"`
	Title    text          `json:"title"`
	About    list[[2]text] `json:"about"` // names and values
	Links    list[Link]    `json:"links"`
	Outcome  string        `json:"outcome"`
	Reason   text          `json:"reason"`
	Known    bool          `json:"known"` // whether the history says what etcd committed
	Healed   float64       `json:"healed"`
	End      float64       `json:"end"`
	Revision int           `json:"revision"`

	Versions list[string]     `json:"versions"`
	Objects  list[objectData] `json:"objects"` // the first stands for no object
	Servers  list[text]       `json:"servers"`
	Clients  list[text]       `json:"clients"`

	Changes     list[changeData]     `json:"changes"`
	Compactions list[compactionData] `json:"compactions"`
	Faults      list[faultData]      `json:"faults"`
	Operations  list[operationData]  `json:"operations"`
	Streams     list[streamData]     `json:"streams"`
	Events      eventColumns         `json:"events"`
	Leaders     list[leaderData]     `json:"leaders"`
	Windows     list[windowData]     `json:"windows"`

	Marks list[markData] `json:"marks"`
	// Left counts the violations and observations beyond maxMarks.
	Left int            `json:"left"`
	Owed list[owedData] `json:"owed"`
}

// list is a slice that JSON has as [], not null, if it is empty.
type list[T any] []T

// MarshalJSON implements json.Marshaler.
func (l list[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

type changeData struct {
	Version int     `json:"version"`
	Object  int     `json:"object"`
	Deleted bool    `json:"deleted"`
	From    float64 `json:"from"`
	By      float64 `json:"by"`
	Author  int     `json:"author"`
}

type compactionData struct {
	Version int     `json:"version"`
	Time    float64 `json:"time"`
}

type faultData struct {
	Name      text       `json:"name"`
	Note      text       `json:"note"`
	Begin     float64    `json:"begin"`
	End       float64    `json:"end"`
	Processes list[text] `json:"processes"`
}

// builder turns a history into data.
type builder struct {
	history  *model.History
	versions versions
	objects  map[objectData]int
	data     *data
}

// build returns the data of a page.
func build(page *Page) *data {
	h := page.History
	b := &builder{history: h, versions: newVersions(h), objects: map[objectData]int{{}: 0}}
	b.data = &data{
		Version: dataVersion, Title: text(page.Title), Links: page.Links,
		Outcome: string(page.Verdict.Outcome), Reason: text(page.Verdict.Reason),
		Known:  h.Truth.Revision > 0,
		Healed: seconds(h.Healed), End: seconds(lastOf(h)), Revision: b.versions.rank(h.Truth.Revision),
		Versions: b.versions.texts(), Objects: list[objectData]{{}},
	}
	for _, row := range page.About {
		if row[1] != "" {
			b.data.About = append(b.data.About, [2]text{text(row[0]), text(row[1])})
		}
	}
	b.processes()
	b.truth()
	b.faults()
	b.operations()
	b.streams()
	b.standing()
	b.marks(&page.Verdict)
	return b.data
}

// seconds returns a time of the history in seconds, -1 for none.
func seconds(nanoseconds int64) float64 {
	if nanoseconds < 0 {
		return -1
	}
	return float64(nanoseconds) / 1e9
}

// lastOf returns the time of the last record: a run that was cut short has no end.
func lastOf(h *model.History) int64 {
	last := h.End
	for op := range model.Each(h.Operations) {
		last = max(last, op.Call, op.Return)
	}
	for s := range model.Each(h.Streams) {
		last = max(last, s.Call, s.Closed)
		for event := range model.Each(s.Events) {
			last = max(last, event.Time)
		}
	}
	return last
}

// processes adds the API servers and clients, sorted by name.
func (b *builder) processes() {
	h, servers, clients := b.history, map[string]bool{}, map[string]bool{}
	for op := range model.Each(h.Operations) {
		servers[op.Server], clients[op.Client] = true, true
	}
	for s := range model.Each(h.Streams) {
		servers[s.Server], clients[s.Client] = true, true
	}
	for informer := range model.Each(h.Informers) {
		servers[informer.Server], clients[informer.Client] = true, true
	}
	for census := range model.Each(h.Censuses) {
		servers[census.Server] = true
	}
	for window := range model.Each(h.Windows) {
		servers[window.Server] = true
	}
	b.data.Servers, b.data.Clients = sorted(servers), sorted(clients)
}

func sorted(set map[string]bool) (names list[text]) {
	for _, name := range slices.SortedFunc(maps.Keys(set), natural) {
		names = append(names, text(name))
	}
	return names
}

func (b *builder) truth() {
	for i, committed := range commits(b.history) {
		change := &b.history.Truth.Changes[i]
		b.data.Changes = append(b.data.Changes, changeData{
			Version: b.versions.rank(change.RV), Object: b.object(&change.Object), Deleted: change.Deleted,
			From: seconds(committed.from), By: seconds(committed.by), Author: committed.author,
		})
	}
	for _, compaction := range b.history.Truth.Compactions {
		b.data.Compactions = append(b.data.Compactions, compactionData{b.versions.rank(compaction.RV), seconds(compaction.Time)})
	}
}

func (b *builder) faults() {
	for fault := range model.Each(b.history.Faults) {
		one := faultData{Name: text(fault.Name), Note: text(fault.Note), Begin: seconds(fault.Begin), End: seconds(fault.End)}
		for _, process := range fault.Processes {
			one.Processes = append(one.Processes, text(process))
		}
		b.data.Faults = append(b.data.Faults, one)
	}
}
