package linearizability

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/watchsim/watchsim/model"
)

// Counts says how much a history contains, to tell a verdict from a vacuous one. The
// tag counts is the name of a count in reports, with a slash where the plural has an
// s.
type Counts struct {
	Writes        int `json:"writes" counts:"write/"`                             // acknowledged creates, updates and deletes
	UnknownWrites int `json:"unknownWrites" counts:"write/ with unknown outcome"` // the client does not know it
	FailedWrites  int `json:"failedWrites" counts:"failed write/"`                // the server refused them
	Gets          int `json:"gets" counts:"get/"`                                 // successful, or NotFound
	Lists         int `json:"lists" counts:"list/"`                               // successful, pages included
	Pages         int `json:"pages" counts:"page/"`                               // successful continuations
	Streams       int `json:"streams" counts:"stream/"`                           // watches that opened
	Blocks        int `json:"blocks" counts:"initial block/"`
	Resumed       int `json:"resumed" counts:"resumed stream/"`  // they continue a stream or list
	Refused       int `json:"refused" counts:"refused request/"` // watches and reads answered 410 or TooLarge
	Events        int `json:"events" counts:"event/"`            // ADDED, MODIFIED and DELETED
	Bookmarks     int `json:"bookmarks" counts:"bookmark/"`
	Changes       int `json:"changes" counts:"change/"`
	Compactions   int `json:"compactions" counts:"compaction/"`
	Faults        int `json:"faults" counts:"fault/"`
	Informers     int `json:"informers" counts:"informer/"` // checked for Converged
	Searched      int `json:"searched" counts:"stream/ checked by porcupine"`
	Delivered     int `json:"delivered" counts:"open stream/ checked for delivery"`
	Relists       int `json:"relists" counts:"relist/"` // by clients that had watched
	Gone          int `json:"gone" counts:"410 Gone response/"`
	Refreshed     int `json:"refreshed" counts:"stream/ refreshed by bookmarks alone"`
	Unblocked     int `json:"unblocked" counts:"event/ beside a stalled consumer"`
	Shared        int `json:"shared" counts:"shared-watch sample/"`
	Released      int `json:"released" counts:"server/ checked for leaks"`
	Mutated       int `json:"scribbled" counts:"object/ mutated by consumers"`
	Ended         int `json:"ended" counts:"stream/ that ended"` // for whatever reason
	Answered      int `json:"answered" counts:"request/ while nothing was wrong"`
	Prompt        int `json:"prompt" counts:"event/ while nothing was wrong"`
	// TimeTravels are reads of any state that showed a client an older one than
	// it had seen.
	TimeTravels int `json:"timeTravels" counts:"time travel/"`
}

// each calls a function with the name of each count and its values in c and other.
func (c Counts) each(other Counts, visit func(name string, here, there int)) {
	a, b := reflect.ValueOf(c), reflect.ValueOf(other)
	for i := range a.NumField() {
		visit(a.Type().Field(i).Tag.Get("counts"), int(a.Field(i).Int()), int(b.Field(i).Int()))
	}
}

// counting prints a number with the name of what is counted.
func counting(n int, name string) string {
	plural := "s"
	if n == 1 {
		plural = ""
	}
	return fmt.Sprintf("%d %s", n, strings.Replace(name, "/", plural, 1))
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
			short = append(short, Reason{TooLittleHappened, strings.Replace(name, "/", "s", 1),
				fmt.Sprintf("expected at least %s in the history, found %d", counting(want, name), got)})
		}
	})
	return short
}

// Against lists the counts, with the minimum where there is one.
func (c Counts) Against(minimum Counts) string {
	var parts []string
	c.each(minimum, func(name string, got, want int) {
		switch {
		case want > 0:
			parts = append(parts, fmt.Sprintf("%s (at least %d)", counting(got, name), want))
		case got > 0:
			parts = append(parts, counting(got, name))
		}
	})
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// counted returns what can be counted without judging.
func counted(h *model.History) Counts {
	c := Counts{Changes: len(h.Truth.Changes), Compactions: len(h.Truth.Compactions), Faults: len(h.Faults), Relists: relists(h)}
	for i := range h.Operations {
		c.countOperation(&h.Operations[i])
	}
	for s := range model.Each(h.Streams) {
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

// relists counts how often clients that follow the list-watch protocol relisted: a
// first page, or a stream with initial events, by a client that had already watched
// from a list or resumed a stream.
func relists(h *model.History) (count int) {
	resumed := map[string]int{} // the first stream of each client that resumes something
	for s := range model.Each(h.Streams) {
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
	for op := range model.Each(h.Operations) {
		if op.Kind == model.List && op.Continues == 0 && again(op.Client, op.ID) {
			count++
		}
	}
	for s := range model.Each(h.Streams) {
		if s.InitialEvents && again(s.Client, s.ID) {
			count++
		}
	}
	return count
}
