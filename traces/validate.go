package traces

import (
	"fmt"
	"math"

	"github.com/watchsim/watchsim/model"
)

// Validate returns an error, which wraps [ErrBadRecord], if a history cannot have
// been recorded: times that run backwards, revisions that etcd does not have, dangling
// references. It does not check whether the history obeys the model: any response that
// a server can return, however wrong, is valid.
//
// Rules may rely on what Validate checks.
func Validate(h *model.History) error { return validate(h, nil) }

// lineNumbers are the lines of a history's records by kind, in the order of the
// history.
type lineNumbers map[string][]int

func validate(h *model.History, lines lineNumbers) error {
	v := &validation{history: h, lines: lines, operations: map[int]int{}, streams: map[int]int{}}
	for _, check := range []func(){v.end, v.truth, v.faults, v.allOperations, v.allStreams, v.references, v.informers, v.censuses, v.leaders, v.windows} {
		if check(); v.err != nil {
			return v.err
		}
	}
	return nil
}

// validation checks a history. It keeps the first flaw that it finds.
type validation struct {
	history *model.History
	lines   lineNumbers
	err     error
	// operations and streams map IDs to indices.
	operations, streams map[int]int
	// events counts the events of the previous streams.
	events int
}

// place is one record of a history.
type place struct {
	kind  string
	index int    // among the records of its kind
	name  string // a format
	of    []any
}

// demand records a flaw of a record, unless a field is as required.
func (v *validation) demand(is bool, at place, field string, found any, expected string, args ...any) {
	if is || v.err != nil {
		return
	}
	where := Printable(fmt.Sprintf(at.name, at.of...))
	if lines := v.lines[at.kind]; at.index < len(lines) {
		where = fmt.Sprintf("line %d, %s", lines[at.index], where)
	}
	if text, isText := found.(string); isText {
		found = fmt.Sprintf("%q", text)
	}
	v.err = fmt.Errorf("%w: %s, field %s: expected %s, found %v", ErrBadRecord, where, field, fmt.Sprintf(expected, args...), found)
}

func (v *validation) named(at place, field, name, what string) {
	v.demand(name != "", at, field, name, "the name of %s", what)
}

// version requires a resourceVersion or 0.
func (v *validation) version(at place, field string, rv int64) {
	v.demand(rv >= 0, at, field, rv, "a resourceVersion, or 0 for none")
}

// time requires a time from another one, which is that of what, to the end.
func (v *validation) time(at place, field string, time, from int64, what string) {
	v.timeOr(at, field, time, from, what, "")
}

// timeOr is time for one that may also be Pending, which means or, unless that is empty.
func (v *validation) timeOr(at place, field string, time, from int64, what, or string) {
	if or != "" && time == model.Pending || time >= max(from, 0) && time <= v.history.End {
		return
	}
	if what != "" {
		what = ", " + what + ","
	}
	v.demand(false, at, field, time, "a time from %d%s to the end at %d%s", from, what, v.history.End, or)
}

func (v *validation) end() {
	h, at := v.history, place{kind: kindEnd, name: "the end record"}
	v.demand(h.End >= 0, at, "end", h.End, "a time from 0 on")
	v.time(at, "healed", h.Healed, 0, "")
	v.demand(h.Truth.Revision >= 0, at, "revision", h.Truth.Revision, "etcd's last revision, or 0 if it is unknown")
}

// truth requires what always holds for etcd's own log. A history without a truth has
// no records of it, and 0 as the last revision.
func (v *validation) truth() {
	truth := &v.history.Truth
	last := &model.Change{}
	revision := func(at place, change *model.Change) {
		v.demand(change.Follows(last), at, "rv", change.RV, "a revision above %d, that of the previous %s", last.RV, at.kind)
		v.demand(change.RV <= truth.Revision, at, "rv", change.RV, "at most %d, the last revision that the end record names", truth.Revision)
		last = change
	}
	for i := range truth.Changes {
		change := &truth.Changes[i]
		at := place{kindChange, i, "the change to %s", []any{change.Object.Key()}}
		revision(at, change)
		v.named(at, "object.name", change.Object.Name, "an object")
		v.demand(!change.Expired || change.Deleted, at, "expired", true, "false unless deleted is set")
	}
	last = &model.Change{}
	for i, compaction := range truth.Compactions {
		at := place{kindCompaction, i, "compaction %d", []any{i + 1}}
		revision(at, &model.Change{RV: compaction.RV})
		v.timeOr(at, "time", compaction.Time, 0, "", ", or -1 if it is unknown")
	}
}

func (v *validation) faults() {
	for i := range v.history.Faults {
		fault := &v.history.Faults[i]
		at := place{kindFault, i, "fault %d", []any{i + 1}}
		v.named(at, "name", fault.Name, "a fault")
		v.time(at, "begin", fault.Begin, 0, "")
		v.time(at, "end", fault.End, fault.Begin, "its begin")
	}
}

func (v *validation) informers() {
	for i := range v.history.Informers {
		informer := &v.history.Informers[i]
		at := place{kindInformer, i, "informer %d", []any{i + 1}}
		v.named(at, "client", informer.Client, "a client")
		v.named(at, "server", informer.Server, "a server")
		v.version(at, "lastSyncRV", informer.LastSyncRV)
		v.objects(at, informer.Objects)
		before := int64(0)
		for j, n := range informer.Notifications {
			field := func(name string) string { return fmt.Sprintf("notifications[%d].%s", j, name) }
			v.time(at, field("time"), n.Time, before, "that of the previous one")
			v.demand(n.Type == model.Added || n.Type == model.Modified || n.Type == model.Deleted, at, field("type"), n.Type, "ADDED, MODIFIED or DELETED")
			v.version(at, field("object.rv"), n.Object.RV)
			before = n.Time
		}
	}
}

func (v *validation) objects(at place, objects []model.Object) {
	for i := range objects {
		if objects[i].RV < 0 {
			v.version(at, fmt.Sprintf("objects[%d].rv", i), objects[i].RV)
		}
	}
}

// censuses may be later than the end, because a server stops after its clients. They
// may be in any order, and of servers that no client has used.
func (v *validation) censuses() {
	left := int64(math.MaxInt64) // when the first one says that all clients have left for good
	for i := range v.history.Censuses {
		if census := &v.history.Censuses[i]; census.Phase == model.Left {
			left = min(left, census.Time)
		}
	}
	last := v.history.Truth.Revision
	for i := range v.history.Censuses {
		census := &v.history.Censuses[i]
		at := place{kindCensus, i, "census %d", []any{i + 1}}
		known := census.Phase == model.Serving || census.Phase == model.Left || census.Phase == model.Stopped
		v.demand(known, at, "phase", string(census.Phase), "serving, left or stopped")
		v.named(at, "server", census.Server, "a server")
		v.demand(census.Time >= 0, at, "time", census.Time, "a time from 0 on")
		v.demand(census.Revision >= 0, at, "revision", census.Revision, "etcd's revision, or 0 if it is unknown")
		v.demand(last == 0 || census.Revision <= last, at, "revision", census.Revision, "at most %d, the last revision that the end record names", last)
		v.demand(census.Phase != model.Serving || census.Time <= left, at, "phase", string(census.Phase),
			"left or stopped, because another census says that all clients had left for good at %d", left)
		for _, count := range []struct {
			field string
			got   int
		}{{"streams", census.Streams}, {"watchers", census.Watchers}, {"etcdWatches", census.EtcdWatches}, {"goroutines", census.Goroutines}} {
			v.demand(count.got >= model.Uncounted, at, count.field, count.got, "a count, or -1 if it is unknown")
		}
	}
}

// leaders and windows describe a state from a time on, so those of one cluster or
// server must be in order of time.
func (v *validation) leaders() {
	before := int64(0)
	for i, leader := range v.history.Leaders {
		at := place{kindLeader, i, "leader %d", []any{i + 1}}
		v.time(at, "time", leader.Time, before, "that of the previous leader")
		v.demand(leader.Term >= 0, at, "term", leader.Term, "a term, or 0 without a leader")
		v.demand(leader.Member != "" || leader.Term == 0, at, "term", leader.Term, "0, because there is no leader")
		v.demand(leader.Leaderless >= 0, at, "leaderless", leader.Leaderless, "a number of members")
		before = leader.Time
	}
}

// windows requires neither an order of resourceVersions, nor that etcd has them: a cache
// may report anything.
func (v *validation) windows() {
	before := map[string]int64{}
	for i, window := range v.history.Windows {
		at := place{kindWindow, i, "window %d", []any{i + 1}}
		v.named(at, "server", window.Server, "a server")
		v.time(at, "time", window.Time, before[window.Server], "that of its server's previous window")
		v.demand(window.Filling >= 0, at, "filling", window.Filling, "a number from 1 on, or 0 while the cache cannot be read")
		for _, rv := range []struct {
			field string
			got   int64
		}{{"since", window.Since}, {"newest", window.Newest}} {
			v.demand(rv.got >= 0, at, rv.field, rv.got, "a resourceVersion")
			v.demand(window.Filling != 0 || rv.got == 0, at, rv.field, rv.got, "0, because the cache cannot be read")
		}
		before[window.Server] = window.Time
	}
}
