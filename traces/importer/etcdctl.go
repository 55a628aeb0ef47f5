package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// etcdResponse is what etcdctl prints for a get or for the events of a watch. The names of
// the fields differ in case, which the decoder ignores.
type etcdResponse struct {
	Header *struct {
		Revision int64 `json:"revision"`
	} `json:"header"`
	KVs  []keyValue `json:"kvs"`
	More bool       `json:"more"`
	// Events is present, possibly as null, in responses to a watch.
	Events          json.RawMessage `json:"events"`
	CompactRevision int64
	Canceled        bool
	Created         bool
}

type etcdEvent struct {
	Type json.RawMessage `json:"type"`
	KV   *keyValue       `json:"kv"`
}

type keyValue struct {
	Key         []byte `json:"key"`
	ModRevision int64  `json:"mod_revision"`
	Value       []byte `json:"value"`
}

// etcdReader reads the output of one etcdctl, get or watch.
type etcdReader struct {
	recording *Recording
	// prefixes are those of the resource's keys: see [etcdPrefixes].
	prefixes []string
	// from is the --rev of `etcdctl watch`, 0 for none: the output then shows nothing
	// before its first event.
	from int64
	// watched are the responses to a watch so far. Its From is -1 until it is known.
	watched etcdPart
}

// readEtcdctl adds the output of one etcdctl to a recording of a resource, given the --rev of a watch.
// Errors name the position in the file. A truncated last value is left out.
func readEtcdctl(recording *Recording, from int64, file string, in io.Reader) error {
	r := etcdReader{recording: recording, prefixes: etcdPrefixes(recording.Resource), from: from, watched: etcdPart{From: -1}}
	err := recording.eachValue(file, in, func(value jsonValue) error {
		var response etcdResponse
		err := value.Decode(&response)
		switch {
		case err != nil:
			return err
		case response.Header == nil || response.Header.Revision < 0:
			err = errors.New("expected a response of etcd with the revision in its header, found none; was etcdctl given -w json?")
		case len(response.Events) > 0:
			err = r.addWatched(&response)
		default:
			err = r.addState(&response)
		}
		if err != nil {
			return value.Errorf("%w", err)
		}
		return nil
	})
	if err != nil || r.watched.From < 0 {
		return err // the output of a get has been added
	}
	return recording.addEtcd(r.watched)
}

// addState adds what a get returned.
func (r *etcdReader) addState(response *etcdResponse) error {
	if response.More {
		return errors.New("expected all keys, found that more remain; leave --limit out")
	}
	part := etcdPart{From: response.Header.Revision, To: response.Header.Revision, State: true}
	for i := range response.KVs {
		change, wanted, err := r.changeOf(&response.KVs[i], false)
		if err != nil {
			return err
		}
		if change.RV > part.From {
			return fmt.Errorf("expected keys of at most the header's revision %d, found one of %d", part.From, change.RV)
		}
		if wanted {
			part.Changes = append(part.Changes, change)
		}
	}
	slices.SortFunc(part.Changes, func(a, b model.Change) int { return cmp.Compare(a.RV, b.RV) })
	for i := 1; i < len(part.Changes); i++ {
		if part.Changes[i].RV == part.Changes[i-1].RV {
			return fmt.Errorf("expected each key to have been changed at a revision of its own, as Kubernetes does, found two at %d", part.Changes[i].RV)
		}
	}
	return r.recording.addEtcd(part)
}

// addWatched adds a response to a watch.
func (r *etcdReader) addWatched(response *etcdResponse) error {
	var events []etcdEvent
	if json.Unmarshal(response.Events, &events) != nil {
		return errors.New("expected a list of events with keys, found something else")
	}
	part := &r.watched
	if part.From < 0 && r.from > 0 {
		part.From, part.To = r.from-1, r.from-1
	}
	if response.CompactRevision > 0 {
		part.Compacted = append(part.Compacted, response.CompactRevision)
	}
	// After a progress notification, all events up to its revision have arrived.
	if len(events) == 0 && !response.Created && !response.Canceled && part.From >= 0 {
		part.To = max(part.To, response.Header.Revision)
	}
	for _, event := range events {
		if event.KV == nil {
			return errors.New("expected an event with a key, found one without")
		}
		deleted := string(event.Type) == "1" || string(event.Type) == `"DELETE"`
		change, wanted, err := r.changeOf(event.KV, deleted)
		if err != nil {
			return err
		}
		if part.From < 0 {
			part.From = change.RV - 1
		}
		// Keys of other resources may have changed in the same transaction.
		if last := len(part.Changes) - 1; wanted && last >= 0 && change.RV == part.Changes[last].RV && change.Deleted && part.Changes[last].Deleted {
			change.Expired, part.Changes[last].Expired = true, true // API servers write one object at a time, but a lease may expire for more
		} else if change.RV < part.To || wanted && last >= 0 && change.RV <= part.Changes[last].RV {
			return fmt.Errorf("expected events in order of their revision, one for each unless a lease has expired, found %d after %d", change.RV, part.To)
		}
		part.To = change.RV
		if wanted {
			part.Changes = append(part.Changes, change)
		}
	}
	return nil
}

// changeOf returns the change of a key and its value; wanted is false for keys of other
// resources, which are counted as omitted.
func (r *etcdReader) changeOf(kv *keyValue, deleted bool) (change model.Change, wanted bool, err error) {
	if kv.ModRevision < 1 {
		return change, false, fmt.Errorf("expected a mod_revision from 1 on, found %d", kv.ModRevision)
	}
	change = model.Change{RV: kv.ModRevision, Deleted: deleted}
	key, is := keyOf(string(kv.Key), r.prefixes)
	if !is {
		r.recording.Omit("keys in etcd that are not below " + r.prefixes[0])
		return change, false, nil
	}
	plain.fillIn(&change, key, kv.Value)
	return change, true, nil
}
