package linearizability

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/watchsim/watchsim/model"
)

// Counts says how much a history held, so that a verdict can be told from a
// vacuous one. The tag counts is what reports call a count.
type Counts struct {
	Writes        int `json:"writes" counts:"writes"`                             // acknowledged creates, updates and deletes
	UnknownWrites int `json:"unknownWrites" counts:"writes with unknown outcome"` // the client never learned it
	FailedWrites  int `json:"failedWrites" counts:"failed writes"`                // the server refused them
	Gets          int `json:"gets" counts:"gets"`                                 // successful, or NotFound
	Lists         int `json:"lists" counts:"lists"`                               // successful, pages included
	Pages         int `json:"pages" counts:"pages"`                               // successful continuations
	Streams       int `json:"streams" counts:"streams"`                           // watches that opened
	Blocks        int `json:"blocks" counts:"initial blocks"`
	Resumed       int `json:"resumed" counts:"resumed streams"`  // they continue a stream or list
	Refused       int `json:"refused" counts:"refused requests"` // watches and reads answered 410 or TooLarge
	Events        int `json:"events" counts:"events"`            // ADDED, MODIFIED and DELETED
	Bookmarks     int `json:"bookmarks" counts:"bookmarks"`
	Changes       int `json:"changes" counts:"changes"`
	Compactions   int `json:"compactions" counts:"compactions"`
	Faults        int `json:"faults" counts:"faults"`
	Informers     int `json:"informers" counts:"informers"` // checked for Converged
	Searched      int `json:"searched" counts:"streams checked by porcupine"`
	Delivered     int `json:"delivered" counts:"open streams checked for delivery"`
	Relists       int `json:"relists" counts:"relists"` // by clients that had watched
	Gone          int `json:"gone" counts:"410 Gone responses"`
	Refreshed     int `json:"refreshed" counts:"streams refreshed by bookmarks alone"`
	Unblocked     int `json:"unblocked" counts:"events beside a stalled consumer"`
	Shared        int `json:"shared" counts:"shared-watch samples"`
	Released      int `json:"released" counts:"servers checked for leaks"`
	Scribbled     int `json:"scribbled" counts:"objects mutated by consumers"`
	Ended         int `json:"ended" counts:"streams that ended"` // for whatever reason
	// TimeTravels are reads of any state that showed a client an older one than
	// it had seen.
	TimeTravels int `json:"timeTravels" counts:"time travels"`
}

// each calls a function with the name of each count, and its value here and there.
func (c Counts) each(other Counts, visit func(name string, here, there int)) {
	a, b := reflect.ValueOf(c), reflect.ValueOf(other)
	for i := range a.NumField() {
		visit(a.Type().Field(i).Tag.Get("counts"), int(a.Field(i).Int()), int(b.Field(i).Int()))
	}
}

// plus returns the sums of counts.
func (c Counts) plus(other Counts) Counts {
	a, b := reflect.ValueOf(&c).Elem(), reflect.ValueOf(other)
	for i := range a.NumField() {
		a.Field(i).SetInt(a.Field(i).Int() + b.Field(i).Int())
	}
	return c
}

// below lists the counts that are lower than the minimum asked for.
func (c Counts) below(minimum Counts) []Reason {
	var short []Reason
	c.each(minimum, func(name string, got, want int) {
		if got < want {
			short = append(short, Reason{TooLittleHappened, fmt.Sprintf("the history holds only %d %s of at least %d", got, name, want)})
		}
	})
	return short
}

// Against lists what was counted, with the minimum where there is one.
func (c Counts) Against(minimum Counts) string {
	var parts []string
	c.each(minimum, func(name string, got, want int) {
		switch {
		case want > 0:
			parts = append(parts, fmt.Sprintf("%d %s (at least %d)", got, name, want))
		case got > 0:
			parts = append(parts, fmt.Sprintf("%d %s", got, name))
		}
	})
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// counted fills in what can be counted without judging.
func counted(h *model.History) Counts {
	c := Counts{Changes: len(h.Truth.Changes), Compactions: len(h.Truth.Compactions), Faults: len(h.Faults), Relists: relists(h)}
	for i := range h.Operations {
		c.countOperation(&h.Operations[i])
	}
	for i := range h.Streams {
		s := &h.Streams[i]
		if s.Err != model.OK {
			continue
		}
		c.Streams++
		if s.Closed != model.Pending {
			c.Ended++
		}
		if s.ResumesStream != 0 || s.ResumesList != 0 {
			c.Resumed++
		}
		for j := range s.Events {
			switch s.Events[j].Type {
			case model.Bookmark:
				c.Bookmarks++
			case model.Added, model.Modified, model.Deleted:
				c.Events++
			}
		}
	}
	return c
}

func (c *Counts) countOperation(op *model.Operation) {
	switch {
	case op.IsWrite() && op.Lost():
		c.UnknownWrites++
	case op.IsWrite() && op.Err == model.OK:
		c.Writes++
	case op.IsWrite():
		c.FailedWrites++
	case op.Lost():
	case op.Kind == model.Get && (op.Err == model.OK || op.Err == model.NotFound):
		c.Gets++
	case op.Kind == model.List && op.Err == model.OK:
		c.Lists++
		if op.Continues != 0 {
			c.Pages++
		}
	}
}

// relists counts the times that a client which follows the list-watch protocol
// listed again: a first page, or a stream that begins with the state, by a client
// that had already watched from a list or resumed a stream.
func relists(h *model.History) (count int) {
	resumed := map[string]int{} // the first stream of each client that resumes something
	for i := range h.Streams {
		s := &h.Streams[i]
		if s.ResumesList == 0 && s.ResumesStream == 0 {
			continue
		}
		if first, known := resumed[s.Client]; !known || s.ID < first {
			resumed[s.Client] = s.ID
		}
	}
	again := func(client string, id int) bool {
		first, known := resumed[client]
		return known && id > first
	}
	for i := range h.Operations {
		if op := &h.Operations[i]; op.Kind == model.List && op.Continues == 0 && again(op.Client, op.ID) {
			count++
		}
	}
	for i := range h.Streams {
		if s := &h.Streams[i]; s.InitialEvents && again(s.Client, s.ID) {
			count++
		}
	}
	return count
}
