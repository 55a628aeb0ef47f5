package judge

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// Staleness says how old what one API server showed was, compared with the newest that
// anybody had been shown by then, by whatever server. It judges nothing: a read at
// resourceVersion 0 may be stale by as much as it likes. What must not be is for package
// linearizability. Times are those of the history, in nanoseconds.
type Staleness struct {
	Server string `json:"server"`
	// Reads are the lists, gets and initial blocks that could be compared, StaleReads
	// those of them that lacked a change which somebody had been shown before.
	Reads      int `json:"reads"`
	StaleReads int `json:"stale_reads"`
	// Streams are those that could be compared when they ended, Behind those of them
	// that had not brought a change which somebody had been shown before.
	Streams int `json:"streams"`
	Behind  int `json:"streams_behind"`
	// Worst is the one that lacked the most.
	Worst *StaleLook `json:"worst,omitempty"`
	// Period is the longest time for which all that the server showed was stale.
	Period *StalePeriod `json:"period,omitempty"`
}

// StaleLook is one stale read or stream.
type StaleLook struct {
	What string `json:"what"`
	Time int64  `json:"time"`
	// RV is that of the state shown, Newest that of the newest that had been shown.
	RV     int64 `json:"rv"`
	Newest int64 `json:"newest"`
	// Missed is how many changes lie between them that the read or stream is about.
	Missed int `json:"missed"`
	// Age is for how long the first of them had been known at least.
	Age int64 `json:"age"`
	// Seen says who had been shown it, and how.
	Seen string `json:"seen"`
	// Allowed says that the request allowed for any state, however old.
	Allowed bool `json:"allowed"`
}

// StalePeriod is a time for which everything that a server showed was stale.
type StalePeriod struct {
	// From is when somebody was first shown what the server lacked, or later if the
	// server showed something fresh after that. To is the last time that it showed
	// something stale.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Fresh is when it next showed something that was not, -1 if it never did.
	Fresh int64 `json:"fresh"`
	// Looks is how many stale reads and streams are in it.
	Looks int `json:"looks"`
}

// stalenessOf returns how old what each server of a history showed was, by name. A history
// without a truth has none.
func stalenessOf(h *model.History) []Staleness {
	if h.Truth.Revision == 0 {
		return nil
	}
	all := looksOf(h, model.NewStore(&h.Truth), knownOf(h))
	var servers []Staleness
	for _, name := range slices.Sorted(maps.Keys(all)) {
		servers = append(servers, stalenessOfServer(name, all[name]))
	}
	return servers
}

func stalenessOfServer(name string, looks []look) Staleness {
	server := Staleness{Server: name}
	var current *StalePeriod
	fresh := int64(0) // when it last showed something that was not stale
	for l := range model.Each(looks) {
		all, stale := &server.Reads, &server.StaleReads
		if l.end {
			all, stale = &server.Streams, &server.Behind
		}
		*all++
		if l.missed == 0 {
			if current != nil {
				current.Fresh = l.time
			}
			current, fresh = nil, l.time
			continue
		}
		*stale++
		if current == nil {
			current = &StalePeriod{From: max(fresh, l.first.Time), Fresh: model.Pending}
		}
		current.To = l.time
		current.Looks++
		if server.Period == nil || current.To-current.From > server.Period.To-server.Period.From {
			server.Period = current
		}
		if server.Worst == nil || l.missed > server.Worst.Missed {
			server.Worst = &StaleLook{
				What: l.what(), Time: l.time, RV: l.rv, Newest: l.newest.RV, Missed: l.missed,
				Age: l.time - l.first.Time, Seen: shownBy(l.first), Allowed: l.allowed(),
			}
		}
	}
	return server
}

// allowed reports whether a request allowed for any state.
func (l *look) allowed() bool {
	switch {
	case l.end:
		return true // how fast events come, nobody promises
	case l.stream != nil:
		return !l.stream.InitialEvents || l.stream.RV >= 0
	}
	return l.op.RV >= 0
}

// Demand fails a verdict if all that a server showed was stale for longer than a
// time. No specification promises how fresh a cache is; this is a bound of whoever
// asks.
func (v *Verdict) Demand(fresh time.Duration) {
	for i := range v.Stale {
		period := v.Stale[i].Period
		if period == nil || time.Duration(period.To-period.From) <= fresh {
			continue
		}
		v.Outcome, v.Reason = linearizability.Failed, ""
		v.Violations = append(v.Violations, Violation{Report: linearizability.Report{Guarantee: "Fresh", Code: "stale-too-long", Subject: "server", Server: v.Stale[i].Server, Text: fmt.Sprintf(
			"Fresh: all that server %s showed from %s to %s was stale, %d reads and streams (no server may show nothing but old states for longer than %v)",
			v.Stale[i].Server, v.at(period.From), v.at(period.To), period.Looks, fresh)}})
	}
}
