package stale

import (
	"fmt"
	"strings"
	"time"

	"github.com/watchsim/watchsim/model"
)

// Text says the same in sentences. at prints a time of the history.
func (s Server) Text(at func(int64) string) string {
	parts := []string{fmt.Sprintf("%s: %d of %d reads stale, %d of %d streams behind at their end.", s.Name, s.StaleReads, s.Reads, s.Behind, s.Streams)}
	if w := s.Worst; w != nil {
		verb := "showed"
		allowed := "The resourceVersion that the request named allows for that."
		if !w.Allowed {
			allowed = "That must not be, as the request asked for the newest state."
		}
		if strings.HasPrefix(w.What, "stream") {
			verb, allowed = "had got to", ""
		}
		parts = append(parts, fmt.Sprintf("The worst: %s %s RV %d at %s, %s behind RV %d, %s after %s.",
			w.What, verb, w.RV, at(w.Time), model.Plural(w.Missed, "change"), w.Newest, duration(w.Age), w.Seen))
		if allowed != "" {
			parts = append(parts, allowed)
		}
	}
	if p := s.Period; p != nil {
		fresh := "and nothing newer came after that"
		if p.Fresh != model.Pending {
			fresh = "and it was fresh again at " + at(p.Fresh)
		}
		parts = append(parts, fmt.Sprintf("All it showed was stale from %s to %s, %s.", at(p.From), at(p.To), fresh))
	}
	return strings.Join(parts, " ")
}

// duration is rounded to what a reader can use.
func duration(nanoseconds int64) string {
	d := time.Duration(nanoseconds)
	if d >= time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Microsecond).String()
}
