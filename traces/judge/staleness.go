package judge

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// Staleness says how stale the states were that one API server returned, compared with the
// newest that any server had returned by then. It does not judge: a read at resourceVersion
// 0 may be arbitrarily stale. Package linearizability judges what is not allowed. Times are
// those of the history, in nanoseconds.
type Staleness struct {
	Server string `json:"server"`
	// Reads are the lists, gets and initial blocks that could be compared, StaleReads
	// those of them that lacked a change which had been returned to anybody before.
	Reads      int `json:"reads"`
	StaleReads int `json:"stale_reads"`
	// Streams are those that could be compared when they ended, Behind those of them
	// that had not delivered a change which had been returned to anybody before.
	Streams int `json:"streams"`
	Behind  int `json:"streams_behind"`
	// Worst is the one that lacked the most changes.
	Worst *StaleLook `json:"worst,omitempty"`
	// Period is the longest time in which everything that the server returned was stale.
	Period *StalePeriod `json:"period,omitempty"`
}

// StaleLook is one stale read or stream.
type StaleLook struct {
	What string `json:"what"`
	Time int64  `json:"time"`
	// RV is that of the state returned, Newest the newest that had been returned.
	RV     int64 `json:"rv"`
	Newest int64 `json:"newest"`
	// Missed is how many changes within the scope and selector are between them.
	Missed int `json:"missed"`
	// Age is how long the first of them had been known at least.
	Age int64 `json:"age"`
	// Seen says how that one had been returned.
	Seen string `json:"seen"`
	// Allowed says that the request allowed a stale state.
	Allowed bool `json:"allowed"`
}

// StalePeriod is a time in which everything that a server returned was stale.
type StalePeriod struct {
	// From is when the change that the server lacked was first returned to anybody, or
	// later if the server returned something fresh after that. To is the last time
	// that it returned something stale.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Fresh is when it next returned something fresh, -1 if it never did.
	Fresh int64 `json:"fresh"`
	// Looks is the number of stale reads and streams in it.
	Looks int `json:"looks"`
}

// stalenessOf returns the staleness of each server of a history, by name. It returns
// nothing for a history without a truth.
func stalenessOf(h *model.History) []Staleness {
	if h.Truth.Revision == 0 {
		return nil
	}
	all := looksOf(h, model.NewStore(&h.Truth), model.Shown(h))
	var servers []Staleness
	for _, name := range slices.Sorted(maps.Keys(all)) {
		servers = append(servers, stalenessOfServer(name, all[name]))
	}
	return servers
}

func stalenessOfServer(name string, looks []look) Staleness {
	server := Staleness{Server: name}
	var current *StalePeriod
	fresh := int64(0) // when it last returned something fresh
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

// allowed reports whether a request allowed a stale state.
func (l *look) allowed() bool {
	switch {
	case l.end:
		return true // no bound on the delay of events is guaranteed
	case l.stream != nil:
		return !l.stream.InitialEvents || l.stream.RV >= 0
	}
	return l.op.RV >= 0
}

// Demand fails a verdict if everything that a server returned was stale for longer
// than fresh. No specification bounds the staleness of a cache; this is the user's own
// bound.
func (v *Verdict) Demand(fresh time.Duration) {
	for i := range v.Stale {
		period := v.Stale[i].Period
		if period == nil || time.Duration(period.To-period.From) <= fresh {
			continue
		}
		v.Outcome, v.Reason = linearizability.Failed, ""
		v.Violations = append(v.Violations, Violation{Report: linearizability.Report{Guarantee: "Fresh", Code: "stale-too-long", Subject: "server", Server: v.Stale[i].Server, Text: fmt.Sprintf(
			"Fresh: everything that server %s returned from %s to %s was stale, %d reads and streams (no server may return only stale states for longer than %v)",
			v.Stale[i].Server, v.at(period.From), v.at(period.To), period.Looks, fresh)}})
	}
}
