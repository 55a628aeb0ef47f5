package importer

import "github.com/watchsim/watchsim/model"

// AddWorld adds what only a simulation knows. That is what etcd committed since it was new:
// every change of any key, with the key as the object's name and what is stored as its value,
// and every compaction; and the faults. The recording must name its resource, as the keys of
// etcd are told apart by it. Values that can be read are reduced as those that clients see,
// so that they can be compared.
func (r *Recording) AddWorld(committed model.Truth, faults []model.Fault, reducer Reducer) error {
	r.faults = append(r.faults, faults...)
	prefixes := etcdPrefixes(r.Resource)
	part := etcdPart{To: committed.Revision, State: true, AllCompacted: true}
	for _, compaction := range committed.Compactions {
		part.Compacted = append(part.Compacted, compaction.RV)
	}
	for _, change := range committed.Changes {
		key, is := keyOf(change.Object.Name, prefixes)
		if !is {
			continue
		}
		stored := change.Object.Value
		change.Object = model.Object{Namespace: key.Namespace, Name: key.Name}
		if !change.Deleted {
			change.Object = reducer.storedAs(key, []byte(stored))
		}
		change.Object.RV = change.RV
		part.Changes = append(part.Changes, change)
	}
	return r.addEtcd(part)
}

// storedAs is the object that a key of etcd holds, no more than its name if what is stored
// cannot be read.
func (r Reducer) storedAs(key model.Key, value []byte) model.Object {
	if object, readable := r.Stored(value); readable && object.Key() == key {
		return object
	}
	return model.Object{Namespace: key.Namespace, Name: key.Name}
}
