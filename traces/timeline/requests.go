package timeline

import "github.com/watchsim/watchsim/model"

// operationData is a request other than a watch.
type operationData struct {
	ID     int     `json:"id"`
	Client text    `json:"client"`
	Server text    `json:"server"`
	Kind   string  `json:"kind"`
	Call   float64 `json:"call"`
	End    float64 `json:"end"` // the return
	Query  text    `json:"query"`
	// Object is what a create or update was to write.
	Object       int    `json:"object"`
	Precondition int    `json:"precondition"`
	Version      int    `json:"version"` // requested
	Match        string `json:"match"`
	Limit        int64  `json:"limit"`
	Continues    int    `json:"continues"`
	Error        string `json:"error"`
	Message      text   `json:"message"`
	Result       int    `json:"result"` // the version returned
	Count        int    `json:"count"`
	HasMore      bool   `json:"hasMore"` // with a continue token
}

type streamData struct {
	Index         int     `json:"index"`
	ID            int     `json:"id"`
	Client        text    `json:"client"`
	Server        text    `json:"server"`
	Call          float64 `json:"call"`
	Opened        float64 `json:"opened"`
	Closed        float64 `json:"closed"`
	Reason        string  `json:"reason"`
	Query         text    `json:"query"`
	Version       int     `json:"version"`
	Bookmarks     bool    `json:"bookmarks"`
	InitialEvents bool    `json:"initialEvents"`
	ResumesStream int     `json:"resumesStream"`
	ResumesList   int     `json:"resumesList"`
	Consumer      text    `json:"consumer"`
	Timeout       float64 `json:"timeout"`
	Error         string  `json:"error"`
	Message       text    `json:"message"`
	// Its events are those from First up to End.
	First int `json:"first"`
	End   int `json:"end"`
}

// eventColumns are the events of all streams, stream by stream. There are so many that
// they are in columns, times and versions as differences between neighbours, which
// compress better. Times are in nanoseconds.
type eventColumns struct {
	TimeSteps    list[int64] `json:"timeSteps"`
	Type         list[text]  `json:"type"`
	VersionSteps list[int]   `json:"versionSteps"`
	Object       list[int]   `json:"object"`
	// InitialEnd are the indices of bookmarks that mark the end of the initial
	// events, and Failed are the events with an error.
	InitialEnd list[int]        `json:"initialEnd"`
	Failed     list[failedData] `json:"failed"`
}

type failedData struct {
	Index   int  `json:"index"`
	Error   text `json:"error"`
	Message text `json:"message"`
}

func (b *builder) operations() {
	for op := range model.Each(b.history.Operations) {
		b.data.Operations = append(b.data.Operations, operationData{
			ID: op.ID, Client: text(op.Client), Server: text(op.Server), Kind: op.Verb(), Call: seconds(op.Call), End: seconds(op.Return),
			Query: text(asked(op)), Object: b.object(op.Object), Precondition: b.versions.rank(op.Precondition), Version: b.versions.rank(op.RV),
			Match: string(op.Match), Limit: op.Limit, Continues: op.Continues, Error: string(op.Err), Message: text(op.Message),
			Result: b.versions.rank(op.ResultRV), Count: len(op.Objects), HasMore: op.HasMore,
		})
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
	c, last, rank := &b.data.Events, int64(0), 0
	for i, s := range b.history.Streams {
		first := len(c.Type)
		for event := range model.Each(s.Events) {
			at, version := len(c.Type), b.versions.rank(event.RV)
			c.TimeSteps, c.VersionSteps = append(c.TimeSteps, event.Time-last), append(c.VersionSteps, version-rank)
			c.Type, c.Object = append(c.Type, text(event.Type)), append(c.Object, b.object(event.Object))
			if event.InitialEnd {
				c.InitialEnd = append(c.InitialEnd, at)
			}
			if event.Err != model.OK || event.Message != "" {
				c.Failed = append(c.Failed, failedData{at, text(event.Err), text(event.Message)})
			}
			last, rank = event.Time, version
		}
		b.data.Streams = append(b.data.Streams, streamData{
			Index: i, ID: s.ID, Client: text(s.Client), Server: text(s.Server), Call: seconds(s.Call), Opened: seconds(s.Return), Closed: seconds(s.Closed),
			Reason: string(s.Reason), Query: text(query(s.Scope, s.Selector)), Version: b.versions.rank(s.RV),
			Bookmarks: s.Bookmarks, InitialEvents: s.InitialEvents, ResumesStream: s.ResumesStream, ResumesList: s.ResumesList,
			Consumer: text(s.Consumer), Timeout: seconds(s.Timeout), Error: string(s.Err), Message: text(s.Message), First: first, End: len(c.Type),
		})
	}
}
