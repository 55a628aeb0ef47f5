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
	store, found := newStore(), truthBuilder{prefix: prefix, decode: decode, last: map[string]model.Object{}}
	for _, era := range eras {
		if era.Revision != 0 {
			store.revision = era.Revision
			found.compact(store.compact(era.Revision))
		}
		entries, err := era.entries(release)
		if err != nil {
			return model.Truth{}, err
		}
		for _, entry := range entries {
			effect, err := apply(store, release, entry)
			if err != nil {
				return model.Truth{}, fmt.Errorf("replay log entry %d: %w", entry.Index, err)
			}
			if effect.compacted != 0 {
				found.compact(effect.compacted)
			}
			for _, written := range effect.changes {
				if err := found.add(written, store.revision); err != nil {
					return model.Truth{}, err
				}
			}
		}
	}
	found.truth.Revision = store.revision
	return found.truth, nil
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

// truthBuilder puts a truth together from writes and compactions, in their order.
type truthBuilder struct {
	truth  model.Truth
	prefix string // of the keys of the watched resource
	decode func(key string, value []byte) (model.Object, error)
	last   map[string]model.Object // by key: the last state, which a deletion tells
}

func (b *truthBuilder) compact(revision int64) {
	b.truth.Compactions = append(b.truth.Compactions, model.Compaction{RV: revision, Time: model.Pending})
}

// add adds a write as a change, unless it is of another resource.
func (b *truthBuilder) add(written write, revision int64) error {
	if !strings.HasPrefix(written.key, b.prefix) {
		return nil
	}
	if !written.deleted {
		object, err := b.decode(written.key, written.value)
		if err != nil {
			return fmt.Errorf("decode %s at revision %d: %w", written.key, revision, err)
		}
		b.last[written.key] = object
	}
	change := model.Change{RV: revision, Deleted: written.deleted, Expired: written.deleted && written.expired, Object: b.last[written.key]}
	change.Object.RV = revision
	b.truth.Changes = append(b.truth.Changes, change)
	return nil
}
