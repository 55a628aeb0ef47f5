package importer

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/watchsim/watchsim/model"
)

// Reducer makes model objects of the JSON of objects.
type Reducer struct {
	// Family is the first part of each digest. Digests of one family can be
	// compared, as the same content has the same digest in it.
	Family string
	// Key makes digests that nobody can guess contents from who does not know the
	// key. Without a key a digest is a plain hash.
	Key []byte
	// Blind never looks at contents, whatever kind the objects say they are of.
	Blind bool
	// Whole puts the contents themselves in the place of digests.
	Whole bool
}

// plain is the reducer for contents that lie in the files that are read anyway.
var plain = Reducer{Family: "json"}

// Object reduces one object. Its Value is a digest of what it holds, apart from
// what differs between two servers that answer with the same object: the
// resourceVersion, the API version, and who manages which field. It is empty if the
// content is not there to be seen, as in the rows of a table, and for a Secret, of
// which nothing is looked at but the metadata.
func (r Reducer) Object(text []byte) (model.Object, error) {
	var head head
	if err := json.Unmarshal(text, &head); err != nil {
		return model.Object{}, misfit("an object", err)
	}
	return r.object(text, &head)
}

// object reduces one whose head has been read.
func (r Reducer) object(text []byte, head *head) (model.Object, error) {
	object := model.Object{}
	meta := &head.Metadata
	object.Namespace, object.Name, object.UID = meta.Namespace, meta.Name, meta.UID
	if meta.ResourceVersion != "" {
		rv, err := ParseRV(meta.ResourceVersion)
		if err != nil {
			return object, err
		}
		object.RV = rv
	}
	object.Labels = meta.Labels
	if r.Blind || head.Kind == "Secret" || head.Kind == "PartialObjectMetadata" {
		return object, nil
	}
	object.Node = head.node()
	digest, err := r.digest(text)
	object.Value = digest
	return object, err
}

// head is what every object has.
type head struct {
	Kind       string          `json:"kind"`
	APIVersion string          `json:"apiVersion"`
	Metadata   metadata        `json:"metadata"`
	Spec       json.RawMessage `json:"spec"`
}

type metadata struct {
	Namespace          string            `json:"namespace"`
	Name               string            `json:"name"`
	UID                string            `json:"uid"`
	ResourceVersion    string            `json:"resourceVersion"`
	Labels             map[string]string `json:"labels"`
	Annotations        map[string]string `json:"annotations"`
	Continue           string            `json:"continue"`
	RemainingItemCount *int64            `json:"remainingItemCount"`

	DeletionTimestamp          *string  `json:"deletionTimestamp"`
	DeletionGracePeriodSeconds int64    `json:"deletionGracePeriodSeconds"`
	Finalizers                 []string `json:"finalizers"`
}

// node is spec.nodeName, which only some kinds have.
func (h *head) node() string {
	var spec struct {
		NodeName string `json:"nodeName"`
	}
	if json.Unmarshal(h.Spec, &spec) != nil {
		return ""
	}
	return spec.NodeName
}

// isHeld reports whether spec.finalizers, which only namespaces have, hold an object.
func (h *head) isHeld() bool {
	var spec struct {
		Finalizers []string `json:"finalizers"`
	}
	return json.Unmarshal(h.Spec, &spec) == nil && len(spec.Finalizers) > 0
}

// digest is made of the content with its fields in order.
func (r Reducer) digest(text []byte) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var content map[string]any
	if err := decoder.Decode(&content); err != nil {
		return "", misfit("an object", err)
	}
	delete(content, "kind")
	delete(content, "apiVersion")
	if meta, is := content["metadata"].(map[string]any); is {
		delete(meta, "resourceVersion")
		delete(meta, "managedFields")
		delete(meta, "selfLink")
	}
	prune(content)
	ordered, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("expected an object, found one that JSON cannot hold: %w", err)
	}
	if r.Whole {
		return r.Family + ":" + string(ordered), nil
	}
	return r.Family + ":" + hex.EncodeToString(r.sum(ordered)[:8]), nil
}

func (r Reducer) sum(text []byte) []byte {
	if r.Key == nil {
		sum := sha256.Sum256(text)
		return sum[:]
	}
	mac := hmac.New(sha256.New, r.Key)
	mac.Write(text)
	return mac.Sum(nil)
}

// prune removes what is empty: whether an empty field is there depends on who
// encodes the object.
func prune(content map[string]any) {
	for name, value := range content {
		switch value := value.(type) {
		case nil:
			delete(content, name)
		case map[string]any:
			if prune(value); len(value) == 0 {
				delete(content, name)
			}
		case []any:
			for _, element := range value {
				if inner, is := element.(map[string]any); is {
					prune(inner)
				}
			}
			if len(value) == 0 {
				delete(content, name)
			}
		}
	}
}

// List is a list, or a page of one.
type List struct {
	RV       int64
	Continue string
	// Remaining is remainingItemCount, -1 if the server gave none.
	Remaining int64
	Objects   []model.Object
}

// collection is a list as JSON: with items, or, as a table, with rows.
type collection struct {
	Kind     string            `json:"kind"`
	Metadata metadata          `json:"metadata"`
	Items    []json.RawMessage `json:"items"`
	Rows     []struct {
		Object json.RawMessage `json:"object"`
	} `json:"rows"`
}

// errNotList means that something else than a list is there.
var errNotList = errors.New("expected a list")

// List reduces a list of any kind, and a table, which is what kubectl asks for.
func (r Reducer) List(text []byte) (List, error) {
	var raw collection
	if err := json.Unmarshal(text, &raw); err != nil {
		return List{}, misfit("a list", err)
	}
	if raw.Metadata.ResourceVersion == "" {
		return List{}, fmt.Errorf("%w with a resourceVersion, found the kind %.50q without one", errNotList, raw.Kind)
	}
	rv, err := ParseRV(raw.Metadata.ResourceVersion)
	if err != nil {
		return List{}, err
	}
	list := List{RV: rv, Continue: raw.Metadata.Continue, Remaining: -1}
	if raw.Metadata.RemainingItemCount != nil {
		list.Remaining = *raw.Metadata.RemainingItemCount
	}
	for _, row := range raw.Rows {
		raw.Items = append(raw.Items, row.Object)
	}
	for i, item := range raw.Items {
		object, err := r.item(raw.Kind, item)
		if err != nil {
			return List{}, fmt.Errorf("item %d: %w", i+1, err)
		}
		list.Objects = append(list.Objects, object)
	}
	return list, nil
}

// item reduces an item of a list. Those of built-in types do not name their kind.
func (r Reducer) item(list string, item json.RawMessage) (model.Object, error) {
	object, err := r.Object(item)
	if list == "SecretList" {
		object.Node, object.Value = "", ""
	}
	return object, err
}

// Event reduces a watch event. A stream's ID and time are for the caller.
func (r Reducer) Event(text []byte) (event model.Event, kind string, err error) {
	var raw struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return event, "", misfit("a watch event", err)
	}
	if raw.Type == "" || len(raw.Object) == 0 {
		return event, "", errors.New("expected a watch event with the fields type and object, found none of one of them")
	}
	event.Type = model.EventType(raw.Type)
	if event.Type == model.Error {
		event.Err = FailureOf(0, raw.Object)
		return event, "Status", nil
	}
	var head head
	if err := json.Unmarshal(raw.Object, &head); err != nil {
		return event, "", misfit("an object", err)
	}
	if head.Kind == "Table" { // a client that asks for tables, as kubectl does, gets an event as one with one row
		raw.Object = single(raw.Object)
		if err := json.Unmarshal(raw.Object, &head); err != nil {
			return event, "", misfit("the row of a table", err)
		}
	}
	if event.Type == model.Bookmark {
		event.InitialEnd = head.Metadata.Annotations["k8s.io/initial-events-end"] == "true"
		if head.Metadata.ResourceVersion != "" {
			event.RV, err = ParseRV(head.Metadata.ResourceVersion)
		}
		return event, head.Kind, err
	}
	object, err := r.object(raw.Object, &head)
	if err != nil {
		return event, head.Kind, err
	}
	event.RV, event.Object = object.RV, &object
	return event, head.Kind, nil
}

// misfit says in one line what was expected, without the names of this program's
// types.
func misfit(expected string, err error) error {
	var of *json.UnmarshalTypeError
	if errors.As(err, &of) {
		return fmt.Errorf("expected %s, found a JSON %s in the field %q", expected, of.Value, of.Field)
	}
	return fmt.Errorf("expected %s, found %w", expected, err)
}
