package importer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
)

// HistoryOptions say how a recording becomes a history.
type HistoryOptions struct {
	// ClockSkew is the most that the clocks of sources may differ. Each request is
	// extended by it on both sides, so that two requests are ordered only if no such
	// difference can reverse them.
	ClockSkew time.Duration
	// AllLabels also keeps labels that no request selects by.
	AllLabels bool
	// Clock keeps the times of the sources' clock, so that those of several histories can be compared. Otherwise a history begins at 0
	// with its first record.
	Clock bool
}

// History makes a valid history of the recording. Call it once.
func (r *Recording) History(options HistoryOptions) (traces.Header, *model.History, error) {
	f := &finisher{truth: newTruth(r, options.ClockSkew)}
	if !options.AllLabels {
		f.labels = r.selectedLabels()
	}
	h := &model.History{Operations: f.operations(), Faults: slices.Clone(r.faults)}
	for _, s := range r.streams {
		h.Streams = append(h.Streams, f.stream(&s.Stream))
	}
	h.Truth = f.committed()
	began := r.retime(h, options)
	h.Healed = h.End // when faults healed is unknown
	header := traces.Header{Attributes: map[string]string{
		traces.AttributeTruth:   r.describeTruth(),
		traces.AttributeSources: strings.Join(r.sources, ", "),
	}}
	if r.Resource != "" {
		header.Attributes[traces.AttributeResource] = r.Resource
	}
	if began != 0 {
		header.Attributes[traces.AttributeBegan] = time.Unix(0, began).UTC().Format(time.RFC3339Nano)
	}
	if options.ClockSkew != 0 {
		header.Attributes[traces.AttributeSkew] = options.ClockSkew.String()
	}
	if err := traces.Validate(h); err != nil {
		return header, nil, fmt.Errorf("expected sources that together make one history, found that they do not: %w", err)
	}
	return header, h, nil
}

// stream finishes a stream.
func (f *finisher) stream(s *model.Stream) model.Stream {
	done := *s
	done.Events = slices.Clone(s.Events)
	for i := range done.Events {
		event := &done.Events[i]
		if event.Object == nil {
			continue
		}
		object := f.live
		if event.Type == model.Deleted {
			object = f.last
		}
		finished := object(event.Object)
		event.Object = &finished
	}
	return done
}

// committed returns the truth for the history.
func (f *finisher) committed() model.Truth {
	truth := model.Truth{Revision: f.truth.recording.newest()}
	for _, versions := range f.truth.versions {
		for i, v := range versions {
			object := v.object
			if v.deleted && i > 0 {
				object = versions[i-1].object
			}
			if v.deleted && object.Value == "" {
				object.Value = valueOf("", v.rv)
			}
			object.Labels, object.RV = f.filter(object.Labels), v.rv
			truth.Changes = append(truth.Changes, model.Change{RV: v.rv, Deleted: v.deleted, Expired: v.expired, Object: object})
			truth.Revision = max(truth.Revision, v.rv)
		}
	}
	slices.SortStableFunc(truth.Changes, func(a, b model.Change) int { return cmp.Compare(a.RV, b.RV) })
	var compacted []int64
	all := false
	for _, e := range f.truth.recording.etcd {
		all = all || e.AllCompacted
		for _, rv := range e.Compacted {
			compacted = append(compacted, rv)
			truth.Revision = max(truth.Revision, rv)
		}
	}
	// After a 410, etcd was above the requested RV, and may have been compacted at any
	// revision.
	if expired := f.truth.recording.expired(); expired > 0 && !all {
		truth.Revision = max(truth.Revision, expired)
		compacted = append(compacted, truth.Revision)
	}
	slices.Sort(compacted)
	for _, rv := range slices.Compact(compacted) {
		truth.Compactions = append(truth.Compactions, model.Compaction{RV: rv, Time: model.Pending})
	}
	return truth
}

// expired returns the lowest revision that etcd had reached according to 410 Gone
// responses, 0 if there are none.
func (r *Recording) expired() int64 {
	expired := int64(0)
	for _, op := range r.operations {
		if op.Err == model.Expired {
			expired = max(expired, op.RV+1, 1)
		}
	}
	for _, s := range r.streams {
		if s.Err == model.Expired || len(s.Events) > 0 && s.Events[0].Err == model.Expired {
			expired = max(expired, s.RV+1, 1)
		}
	}
	return expired
}

// newest returns the highest revision in the recording.
func (r *Recording) newest() int64 {
	newest := int64(0)
	for _, op := range r.operations {
		newest = max(newest, op.ResultRV)
		if op.Err == model.OK { // a successful request is not for a future RV
			newest = max(newest, op.RV)
		}
		for j := range op.Objects {
			newest = max(newest, op.Objects[j].RV)
		}
	}
	for _, s := range r.streams {
		if s.Err == model.OK {
			newest = max(newest, s.RV)
		}
		for j := range s.Events {
			newest = max(newest, s.Events[j].RV)
		}
	}
	for _, e := range r.etcd {
		newest = max(newest, e.To)
	}
	return newest
}

// retime puts all times on one axis that begins at 0, and returns the time at 0, or 0
// if nothing has a time. A stream without times lasts for all of it, with its events
// at the end: if it is unknown when a client learned something, no rule may depend on
// it.
func (r *Recording) retime(h *model.History, options HistoryOptions) (began int64) {
	skew := options.ClockSkew
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	r.eachTime(h, func(t *int64, _ int64) { first, last = min(first, *t), max(last, *t) })
	switch {
	case first > last:
		first, last = 0, 0
	case options.Clock:
		first = 0
	default:
		began = first - skew.Nanoseconds()
		first = began
	}
	h.End = last - first + skew.Nanoseconds()
	r.eachTime(h, func(t *int64, wider int64) { *t = min(max(*t-first+wider*skew.Nanoseconds(), 0), h.End) })
	for i, s := range r.streams {
		if !s.untimed {
			continue
		}
		untimed := &h.Streams[i]
		untimed.Call, untimed.Return, untimed.Closed = 0, h.End, h.End
		for j := range untimed.Events {
			untimed.Events[j].Time = h.End
		}
	}
	return began
}

// eachTime calls a function for each known time of a history, with the direction in
// which clock skew extends it.
func (r *Recording) eachTime(h *model.History, do func(t *int64, wider int64)) {
	known := func(t *int64, wider int64) {
		if *t != model.Pending {
			do(t, wider)
		}
	}
	for i := range h.Operations {
		known(&h.Operations[i].Call, -1)
		known(&h.Operations[i].Return, 1)
	}
	for i, s := range r.streams {
		if s.untimed {
			continue
		}
		timed := &h.Streams[i]
		for _, t := range []*int64{&timed.Call, &timed.Return, &timed.Closed} {
			known(t, 0)
		}
		for j := range timed.Events {
			known(&timed.Events[j].Time, 0)
		}
	}
	for i := range h.Faults {
		known(&h.Faults[i].Begin, 0)
		known(&h.Faults[i].End, 0)
	}
}

// describeTruth says what the truth is based on.
func (r *Recording) describeTruth() string {
	if len(r.etcd) == 0 {
		return "what the sources saw, as there is no output of etcd; what none of them saw is not judged"
	}
	if slices.ContainsFunc(r.etcd, func(e *etcdPart) bool { return e.AllCompacted }) {
		return "all that etcd committed"
	}
	if from, to, ok := r.complete(); ok {
		return fmt.Sprintf("etcd's state at revision %d and its changes up to %d; before and after, what the sources saw", from, to)
	}
	var ranges []string
	for _, e := range r.etcd {
		if e.To > e.From {
			ranges = append(ranges, fmt.Sprintf("%d to %d", e.From+1, e.To))
		} else if e.State {
			ranges = append(ranges, fmt.Sprintf("%d", e.From))
		}
	}
	return fmt.Sprintf("etcd's output for the revisions %s; elsewhere, what the sources saw", strings.Join(ranges, " and "))
}
