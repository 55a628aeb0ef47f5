package etcd

import (
	"fmt"
	"strings"

	"github.com/watchsim/watchsim/model"
)

// Era is the life of a cluster up to a restore, or up to the end. Each has its own
// logs; a restored cluster continues from the state of the era before.
type Era struct {
	// Dirs are the data folders of all members, running, stopped or crashed.
	Dirs []string
	// Applied is the last log entry that the restore at the end of the era kept; 0 if
	// there was none. A stopped member may have entries that it has not applied.
	Applied uint64
	// Revision is the first revision of the era if the restore raised it, with
	// everything older compacted; 0 if the era continues from the last revision of the
	// one before.
	Revision int64
}

// Truth reads what the cluster committed from its members' logs only, not from the database, a
// cache or a client. The eras are in order of time; prefix selects the keys of the watched
// resource. decode turns a stored value into an object, whose RV Truth sets.
//
// The members must keep their logs, as those that Start boots do; if a leader sent a
// snapshot to one, another must still have its entries. It is an error if logs
// contradict each other, or contain requests whose effect is not known, as with an alarm
// about corruption or authentication.
//
// The times of compactions are unknown here and set to model.Pending.
func Truth(release Release, eras []Era, prefix string, decode func(key string, value []byte) (model.Object, error)) (model.Truth, error) {
	var truth model.Truth
	store := newStore()
	last := map[string]model.Object{} // by key: the state before a deletion
	for _, era := range eras {
		if era.Revision != 0 {
			store.revision = era.Revision
			truth.Compactions = append(truth.Compactions, model.Compaction{RV: store.compact(era.Revision), Time: model.Pending})
		}
		entries, err := era.entries(release)
		if err != nil {
			return model.Truth{}, err
		}
		if err := extend(&truth, release, store, entries, last, prefix, decode); err != nil {
			return model.Truth{}, err
		}
	}
	truth.Revision = store.revision
	return truth, nil
}

// entries returns what the members committed in an era.
func (e Era) entries(release Release) ([]LogEntry, error) {
	logs := make([]MemberLog, len(e.Dirs))
	for i, dir := range e.Dirs {
		log, err := release.ReadLog(dir)
		if err != nil {
			return nil, err
		}
		logs[i] = log
	}
	entries, err := settled(logs)
	if applied := int(e.Applied); applied > 0 && applied < len(entries) {
		entries = entries[:applied]
	}
	return entries, err
}

// extend applies entries to a store and adds their changes to the truth.
func extend(truth *model.Truth, release Release, store *store, entries []LogEntry, last map[string]model.Object,
	prefix string, decode func(string, []byte) (model.Object, error),
) error {
	for _, entry := range entries {
		effect, err := apply(store, release, entry)
		if err != nil {
			return fmt.Errorf("replay log entry %d: %w", entry.Index, err)
		}
		if effect.compacted != 0 {
			truth.Compactions = append(truth.Compactions, model.Compaction{RV: effect.compacted, Time: model.Pending})
		}
		for _, written := range effect.changes {
			if !strings.HasPrefix(written.key, prefix) {
				continue
			}
			change, err := describeChange(written, store.revision, last, decode)
			if err != nil {
				return err
			}
			truth.Changes = append(truth.Changes, change)
		}
	}
	return nil
}

// apply replays one log entry. Elections leave empty entries; membership changes do not
// affect the store.
func apply(store *store, release Release, entry LogEntry) (effect, error) {
	if !entry.Normal || len(entry.Data) == 0 {
		return effect{}, nil
	}
	request, err := release.Request(entry.Data)
	if err != nil || request == nil {
		return effect{}, err
	}
	return store.apply(request)
}

// describeChange converts a write into a change of the watched resource. last holds the
// last state of each key; describeChange updates it.
func describeChange(written write, revision int64, last map[string]model.Object, decode func(string, []byte) (model.Object, error)) (model.Change, error) {
	if written.deleted {
		object := last[written.key]
		object.RV = revision
		return model.Change{RV: revision, Deleted: true, Expired: written.expired, Object: object}, nil
	}
	object, err := decode(written.key, written.value)
	if err != nil {
		return model.Change{}, fmt.Errorf("decode %s at revision %d: %w", written.key, revision, err)
	}
	object.RV = revision
	last[written.key] = object
	return model.Change{RV: revision, Object: object}, nil
}
