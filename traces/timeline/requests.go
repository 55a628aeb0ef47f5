package timeline

import "github.com/watchsim/watchsim/model"

// operationColumns are the requests other than watches, in the order of the history.
// Versions are -1 for requests without one.
type operationColumns struct {
	ID        []int    `json:"id"`
	Client    []int    `json:"client"`
	Server    []int    `json:"server"`
	Kind      []string `json:"kind"`
	CallSteps []int64  `json:"callSteps"`
	// Lasted is the return minus the call, -1 without a response.
	Lasted []int64 `json:"lasted"`
	Query  []int   `json:"query"`
	// Object is what a create or update was to write.
	Object       []int    `json:"object"`
	Precondition []int    `json:"precondition"`
	Version      []int    `json:"version"` // requested
	Match        []string `json:"match"`
	Limit        []int64  `json:"limit"`
	Continues    []int    `json:"continues"`
	Error        []string `json:"error"`
	Message      []int    `json:"message"`
	Result       []int    `json:"result"` // the version returned
	Count        []int    `json:"count"`
	HasMore      []int    `json:"hasMore"` // the indices of those with a continue token
}

type streamColumns struct {
	ID            []int    `json:"id"`
	Client        []int    `json:"client"`
	Server        []int    `json:"server"`
	Call          []int64  `json:"call"`
	Return        []int64  `json:"return"`
	Closed        []int64  `json:"closed"`
	Reason        []string `json:"reason"`
	Query         []int    `json:"query"`
	Version       []int    `json:"version"`
	Bookmarks     []bool   `json:"bookmarks"`
	InitialEvents []bool   `json:"initialEvents"`
	ResumesStream []int    `json:"resumesStream"`
	ResumesList   []int    `json:"resumesList"`
	Consumer      []int    `json:"consumer"`
	Timeout       []int64  `json:"timeout"`
	Error         []string `json:"error"`
	Message       []int    `json:"message"`
	// Events is the number of the stream's events in the table of events.
	Events []int `json:"events"`
}

// eventColumns are the events of all streams, stream by stream. The steps continue
// from one stream to the next.
type eventColumns struct {
	TimeSteps []int64 `json:"timeSteps"`
	// Type is the index of a name in Types.
	Type         []int `json:"type"`
	Types        []int `json:"types"`
	VersionSteps []int `json:"versionSteps"`
	Object       []int `json:"object"`
	// InitialEnd are the indices of bookmarks that mark the end of the initial
	// events. Failed are those of events with an error, whose code and message are
	// at the same positions in Error and Message.
	InitialEnd []int `json:"initialEnd"`
	Failed     []int `json:"failed"`
	Error      []int `json:"error"`
	Message    []int `json:"message"`
}

func (b *builder) operations() {
	c, last := &b.data.Operations, int64(0)
	for i := range b.history.Operations {
		op := &b.history.Operations[i]
		c.ID = append(c.ID, op.ID)
		c.Client, c.Server = append(c.Client, b.text(op.Client)), append(c.Server, b.text(op.Server))
		c.Kind = append(c.Kind, op.Verb())
		c.CallSteps = append(c.CallSteps, op.Call-last)
		last = op.Call
		lasted := model.Pending
		if op.Return != model.Pending {
			lasted = op.Return - op.Call
		}
		c.Lasted = append(c.Lasted, lasted)
		c.Query = append(c.Query, b.text(asked(op)))
		c.Object = append(c.Object, b.object(op.Object))
		c.Precondition = append(c.Precondition, b.versions.rank(op.Precondition))
		c.Version = append(c.Version, b.versions.rank(op.RV))
		c.Match = append(c.Match, string(op.Match))
		c.Limit = append(c.Limit, op.Limit)
		c.Continues = append(c.Continues, op.Continues)
		c.Error, c.Message = append(c.Error, string(op.Err)), append(c.Message, b.text(op.Message))
		c.Result = append(c.Result, b.versions.rank(op.ResultRV))
		c.Count = append(c.Count, len(op.Objects))
		if op.HasMore {
			c.HasMore = append(c.HasMore, i)
		}
	}
}

// asked describes the object or query of an operation.
func asked(op *model.Operation) string {
	if op.Object != nil {
		return op.Object.Key().String()
	}
	if len(op.Patch) > 0 {
		return query(op.Scope, model.Selector{Labels: op.Patch})
	}
	return query(op.Scope, op.Selector)
}

func (b *builder) streams() {
	c, types := &b.data.Streams, map[model.EventType]int{}
	last, rank, events := int64(0), 0, 0
	for s := range model.Each(b.history.Streams) {
		c.ID = append(c.ID, s.ID)
		c.Client, c.Server = append(c.Client, b.text(s.Client)), append(c.Server, b.text(s.Server))
		c.Call, c.Return, c.Closed = append(c.Call, s.Call), append(c.Return, s.Return), append(c.Closed, s.Closed)
		c.Reason = append(c.Reason, string(s.Reason))
		c.Query = append(c.Query, b.text(query(s.Scope, s.Selector)))
		c.Version = append(c.Version, b.versions.rank(s.RV))
		c.Bookmarks, c.InitialEvents = append(c.Bookmarks, s.Bookmarks), append(c.InitialEvents, s.InitialEvents)
		c.ResumesStream, c.ResumesList = append(c.ResumesStream, s.ResumesStream), append(c.ResumesList, s.ResumesList)
		c.Consumer, c.Timeout = append(c.Consumer, b.text(s.Consumer)), append(c.Timeout, s.Timeout)
		c.Error, c.Message = append(c.Error, string(s.Err)), append(c.Message, b.text(s.Message))
		c.Events = append(c.Events, len(s.Events))
		for event := range model.Each(s.Events) {
			b.event(event, types, event.Time-last, b.versions.rank(event.RV)-rank, events)
			last, rank = event.Time, b.versions.rank(event.RV)
			events++
		}
	}
}

func (b *builder) event(event *model.Event, types map[model.EventType]int, timeStep int64, versionStep, at int) {
	c := &b.data.Events
	kind, known := types[event.Type]
	if !known {
		kind = len(types)
		types[event.Type] = kind
		c.Types = append(c.Types, b.text(string(event.Type)))
	}
	c.TimeSteps, c.VersionSteps = append(c.TimeSteps, timeStep), append(c.VersionSteps, versionStep)
	c.Type, c.Object = append(c.Type, kind), append(c.Object, b.object(event.Object))
	if event.InitialEnd {
		c.InitialEnd = append(c.InitialEnd, at)
	}
	if event.Err != model.OK || event.Message != "" {
		c.Failed = append(c.Failed, at)
		c.Error, c.Message = append(c.Error, b.text(string(event.Err))), append(c.Message, b.text(event.Message))
	}
}
