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

// etcdOptions say what the output does not.
type etcdOptions struct {
	// Prefixes are those of the resource's keys: see [etcdPrefixes].
	Prefixes []string
	// From is the --rev of `etcdctl watch`, 0 for none: the output then shows nothing
	// before its first event.
	From int64
}

// readEtcdctl adds the output of one etcdctl, get or watch, to a recording. Errors name the
// position in the file. A truncated last value is left out.
func readEtcdctl(recording *Recording, options etcdOptions, file string, in io.Reader) error {
	w := etcdWatch{options: options, part: etcdPart{From: -1}}
	err := recording.eachValue(file, in, func(value jsonValue) error {
		var r etcdResponse
		err := value.Decode(&r)
		switch {
		case err != nil:
			return err
		case r.Header == nil || r.Header.Revision < 0:
			err = errors.New("expected a response of etcd with the revision in its header, found none; was etcdctl given -w json?")
		case len(r.Events) > 0:
			err = w.add(recording, &r)
		default:
			err = addState(recording, options, &r)
		}
		if err != nil {
			return value.Errorf("%w", err)
		}
		return nil
	})
	if err != nil || w.part.From < 0 {
		return err // the output of a get has been added
	}
	return recording.addEtcd(w.part)
}

// addState adds what a get returned.
func addState(recording *Recording, options etcdOptions, r *etcdResponse) error {
	if r.More {
		return errors.New("expected all keys, found that more remain; leave --limit out")
	}
	part := etcdPart{From: r.Header.Revision, To: r.Header.Revision, State: true}
	for i := range r.KVs {
		change, wanted, err := changeOf(recording, options, &r.KVs[i], false)
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
	return recording.addEtcd(part)
}

// etcdWatch accumulates the responses to one watch.
type etcdWatch struct {
	options etcdOptions
	part    etcdPart // its From is -1 until it is known
}

func (w *etcdWatch) add(recording *Recording, r *etcdResponse) error {
	var events []etcdEvent
	if json.Unmarshal(r.Events, &events) != nil {
		return errors.New("expected a list of events with keys, found something else")
	}
	if w.part.From < 0 && w.options.From > 0 {
		w.part.From = w.options.From - 1
		w.part.To = w.part.From
	}
	if r.CompactRevision > 0 {
		w.part.Compacted = append(w.part.Compacted, r.CompactRevision)
	}
	if len(events) == 0 {
		// After a progress notification, all events up to its revision have arrived.
		if !r.Created && !r.Canceled && w.part.From >= 0 {
			w.part.To = max(w.part.To, r.Header.Revision)
		}
		return nil
	}
	for _, event := range events {
		if event.KV == nil {
			return errors.New("expected an event with a key, found one without")
		}
		deleted := string(event.Type) == "1" || string(event.Type) == `"DELETE"`
		change, wanted, err := changeOf(recording, w.options, event.KV, deleted)
		if err != nil {
			return err
		}
		if w.part.From < 0 {
			w.part.From = change.RV - 1
		}
		// Keys of other resources may have changed in the same transaction.
		if last := len(w.part.Changes) - 1; change.RV < w.part.To || wanted && last >= 0 && change.RV <= w.part.Changes[last].RV {
			return fmt.Errorf("expected events in order of their revision, one for each, found %d after %d", change.RV, w.part.To)
		}
		w.part.To = change.RV
		if wanted {
			w.part.Changes = append(w.part.Changes, change)
		}
	}
	return nil
}

// changeOf returns the change of a key and its value; wanted is false for keys of other
// resources, which are counted as omitted.
func changeOf(recording *Recording, options etcdOptions, kv *keyValue, deleted bool) (change model.Change, wanted bool, err error) {
	if kv.ModRevision < 1 {
		return change, false, fmt.Errorf("expected a mod_revision from 1 on, found %d", kv.ModRevision)
	}
	change = model.Change{RV: kv.ModRevision, Deleted: deleted}
	key, is := keyOf(string(kv.Key), options.Prefixes)
	if !is {
		recording.Omit(fmt.Sprintf("keys in etcd that are not below %s", options.Prefixes[0]))
		return change, false, nil
	}
	plain.fillIn(&change, key, kv.Value)
	return change, true, nil
}
