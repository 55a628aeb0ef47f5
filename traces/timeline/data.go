package timeline

import (
	"maps"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// dataVersion is the version of the data passed from this package to web/src/data.ts,
// which are always of the same build.
const dataVersion = 2

// data is what a page draws. Columns of the same table have the same length.
// Strings, resourceVersions and objects are indices into texts, versions and
// objects; times are nanoseconds. A column whose name ends in Steps has the
// differences between neighbours, which compress better.
type data struct {
	Version  int      `json:"version"`
	Title    string   `json:"title"`
	About    [][2]int `json:"about"` // names and values, as texts
	Links    []Link   `json:"links"`
	Outcome  string   `json:"outcome"`
	Reason   int      `json:"reason"`
	Known    bool     `json:"known"` // whether the history says what etcd committed
	Healed   int64    `json:"healed"`
	End      int64    `json:"end"`
	Revision int      `json:"revision"`

	Texts    []string `json:"texts"`
	Versions []string `json:"versions"`
	Objects  *objects `json:"objects"`
	Servers  []int    `json:"servers"`
	Clients  []int    `json:"clients"`

	Changes     changeColumns    `json:"changes"`
	Compactions []compactionData `json:"compactions"`
	Faults      []faultData      `json:"faults"`
	Operations  operationColumns `json:"operations"`
	Streams     streamColumns    `json:"streams"`
	Events      eventColumns     `json:"events"`
	Leaders     []leaderData     `json:"leaders"`
	Windows     windowColumns    `json:"windows"`

	Marks []markData `json:"marks"`
	// Left counts the violations and observations beyond maxMarks.
	Left int        `json:"left"`
	Owed []owedData `json:"owed"`
}

type changeColumns struct {
	VersionSteps []int   `json:"versionSteps"`
	Object       []int   `json:"object"`
	Deleted      []int   `json:"deleted"` // the indices of those that are deletions
	FromSteps    []int64 `json:"fromSteps"`
	Lasted       []int64 `json:"lasted"` // by minus from
	Author       []int   `json:"author"`
}

type compactionData struct {
	Version int   `json:"version"`
	Time    int64 `json:"time"`
}

type faultData struct {
	Name      int   `json:"name"`
	Note      int   `json:"note"`
	Begin     int64 `json:"begin"`
	End       int64 `json:"end"`
	Processes []int `json:"processes"`
}

// builder turns a history into data.
type builder struct {
	*interned
	history  *model.History
	versions versions
	objects  *objects
	data     *data
}

// build returns the data of a page.
func build(page *Page) *data {
	h := page.History
	b := &builder{interned: newInterned(), history: h, versions: newVersions(h), objects: newObjects()}
	b.data = &data{
		Version: dataVersion, Title: shortened(page.Title), Links: page.Links,
		Outcome: string(page.Verdict.Outcome), Reason: b.text(page.Verdict.Reason),
		Known:  h.Truth.Revision > 0,
		Healed: h.Healed, End: lastOf(h), Revision: b.versions.rank(h.Truth.Revision),
	}
	for _, row := range page.About {
		if row[1] != "" {
			b.data.About = append(b.data.About, [2]int{b.text(row[0]), b.text(row[1])})
		}
	}
	b.processes()
	b.truth()
	b.faults()
	b.operations()
	b.streams()
	b.standing()
	b.marks(&page.Verdict)
	b.data.Texts, b.data.Versions, b.data.Objects = b.texts, b.versions.texts(), b.objects
	return b.data
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
	b.data.Servers, b.data.Clients = b.named(servers), b.named(clients)
}

func (b *builder) named(set map[string]bool) []int {
	indices := make([]int, 0, len(set))
	for _, name := range slices.SortedFunc(maps.Keys(set), natural) {
		indices = append(indices, b.text(name))
	}
	return indices
}

func (b *builder) truth() {
	h, columns := b.history, &b.data.Changes
	rank, from := 0, int64(0)
	for i, committed := range commits(h) {
		change := &h.Truth.Changes[i]
		next := b.versions.rank(change.RV)
		columns.VersionSteps = append(columns.VersionSteps, next-rank)
		columns.FromSteps = append(columns.FromSteps, committed.from-from)
		columns.Lasted = append(columns.Lasted, committed.by-committed.from)
		columns.Object = append(columns.Object, b.object(&change.Object))
		columns.Author = append(columns.Author, committed.author)
		if change.Deleted {
			columns.Deleted = append(columns.Deleted, i)
		}
		rank, from = next, committed.from
	}
	for _, compaction := range h.Truth.Compactions {
		b.data.Compactions = append(b.data.Compactions, compactionData{b.versions.rank(compaction.RV), compaction.Time})
	}
}

func (b *builder) faults() {
	for fault := range model.Each(b.history.Faults) {
		one := faultData{Name: b.text(fault.Name), Note: b.text(fault.Note), Begin: fault.Begin, End: fault.End}
		for _, process := range fault.Processes {
			one.Processes = append(one.Processes, b.text(process))
		}
		b.data.Faults = append(b.data.Faults, one)
	}
}
