package etcd

import (
	"fmt"
	"strings"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim/etcd/raftlog"
)

// Truth reads what the cluster committed from its members' logs and nothing
// else: neither the database, nor a cache, nor a client's view has a say. dirs
// are the data folders of all members, running, stopped or crashed; prefix
// selects the keys of the watched resource. decode turns a stored value into an
// object, whose RV Truth sets.
//
// The members must keep their logs, as those Start boots do, and one of them what
// a leader sent to another as a snapshot. It is an error if they contradict each other, or hold requests whose effect depends on
// more than the log says, as under an alarm or with authentication.
//
// The times of compactions are unknown here and set to model.Pending.
func Truth(release Release, dirs []string, prefix string, decode func(key string, value []byte) (model.Object, error)) (model.Truth, error) {
	logs := make([]raftlog.Log, len(dirs))
	for i, dir := range dirs {
		log, err := release.ReadLog(dir)
		if err != nil {
			return model.Truth{}, err
		}
		logs[i] = log
	}
	entries, err := raftlog.Settled(logs)
	if err != nil {
		return model.Truth{}, err
	}

	var truth model.Truth
	store := newStore()
	last := map[string]model.Object{} // by key, what a deletion deletes
	for _, entry := range entries {
		effect, err := apply(store, release, entry)
		if err != nil {
			return model.Truth{}, fmt.Errorf("replay log entry %d: %w", entry.Index, err)
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
				return model.Truth{}, err
			}
			truth.Changes = append(truth.Changes, change)
		}
	}
	truth.Revision = store.revision
	return truth, nil
}

// apply replays one log entry. Elections leave empty entries, and changes of
// membership are of no concern to the store.
func apply(store *store, release Release, entry raftlog.Entry) (effect, error) {
	if !entry.Normal || len(entry.Data) == 0 {
		return effect{}, nil
	}
	request, err := release.Request(entry.Data)
	if err != nil || request == nil {
		return effect{}, err
	}
	return store.apply(request)
}

// describeChange turns a write into a change of the watched resource. last holds
// the last state of each key and is kept up to date.
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
