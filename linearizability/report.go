package linearizability

import "github.com/watchsim/watchsim/model"

// Report is a violation as in files and JSON: a text, and the values that it is made
// of.
type Report struct {
	Guarantee string `json:"guarantee"`
	// Text is the whole message, Sentence its first sentence: who missed or received what.
	Text     string `json:"text"`
	Sentence string `json:"sentence,omitempty"`
	// Code says what is wrong. Subject says with what: a stream, the kind of an
	// operation, an informer, a server or etcd. For a run that ended early, Code is how
	// it ended and Subject the function that panicked.
	Code    string `json:"code,omitempty"`
	Subject string `json:"subject,omitempty"`
	Client  string `json:"client,omitempty"`
	Server  string `json:"server,omitempty"`
	// Stream and Operations are IDs.
	Stream     int   `json:"stream,omitempty"`
	Operations []int `json:"operations,omitempty"`
	// Object is the key of the object, Event the event that arrived, and Owed the one
	// that should have.
	Object string   `json:"object,omitempty"`
	Event  *Arrived `json:"event,omitempty"`
	Owed   *Arrived `json:"owed,omitempty"`
	RVs    []int64  `json:"rvs,omitempty"`
	// Expected and Found are RVs, counts or durations, depending on the code.
	Expected int64 `json:"expected,omitempty"`
	Found    int64 `json:"found,omitempty"`
	// Flaws are the kinds of differences from the expected state.
	Flaws []string `json:"flaws,omitempty"`
	// Time is when the violation showed, in nanoseconds of simulated time.
	Time int64 `json:"time,omitempty"`
	// More counts similar violations that were left out.
	More int `json:"more,omitempty"`
}

// Arrived is an event in a report. Time is 0 if it did not arrive.
type Arrived struct {
	Type   model.EventType `json:"type"`
	Object string          `json:"object,omitempty"`
	RV     int64           `json:"rv"`
	Time   int64           `json:"time,omitempty"`
}

// Report returns the violation for files.
func (v Violation) Report() Report {
	w := &v.Witness
	r := Report{
		Guarantee: v.Guarantee.Name, Text: v.Error(), Sentence: v.Sentence(), Code: v.Code.String(), Subject: w.Subject(),
		Client: w.Client, Server: w.Server(), RVs: w.RVs, Expected: w.Want, Found: w.Got, Flaws: w.Flaws(), Time: w.Time, More: v.More,
	}
	if w.Census != nil {
		r.Client = "" // Client is the server
	}
	if w.Stream != nil {
		r.Stream = w.Stream.ID
	}
	for _, op := range w.Operations {
		r.Operations = append(r.Operations, op.ID)
		if r.Time == 0 {
			r.Time = op.Return
		}
	}
	if len(w.Events) > 0 {
		e := w.Events[0]
		r.Event = &Arrived{Type: e.Type, RV: e.RV, Time: e.Time}
		if e.Object != nil {
			r.Event.Object = e.Object.Key().String()
		}
		r.Object, r.Time = r.Event.Object, e.Time
	}
	if w.Owed != nil {
		r.Owed = &Arrived{Type: w.Owed.Type, Object: w.Owed.Object.Key().String(), RV: w.Owed.RV}
		r.Object = r.Owed.Object
	}
	if key := w.Key.String(); key != "" {
		r.Object = key
	}
	if r.Object == "" && len(w.Operations) > 0 && w.Operations[0].Kind != model.List {
		r.Object = w.Operations[0].Key().String()
	}
	return r
}
