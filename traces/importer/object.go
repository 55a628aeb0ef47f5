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

// Reducer makes model objects from the JSON of objects.
type Reducer struct {
	// Family is the first part of each digest. Digests of one family can be
	// compared, because equal contents have equal digests in it.
	Family string
	// Key makes digests from which contents cannot be guessed without the key. If
	// it is nil, a digest is a plain hash.
	Key []byte
	// Blind never reads contents, whatever the kind of the objects.
	Blind bool
	// Whole uses the contents themselves instead of digests.
	Whole bool
	// seen caches what has been read of objects, nil for no cache.
	seen *Memo[reduced]
}

// Remembering returns a reducer with a cache, because a recorder sees each version of an object many times.
// It is not safe for concurrent use.
func (r Reducer) Remembering() Reducer {
	r.seen = &Memo[reduced]{}
	return r
}

// plain is the reducer for files, which contain the contents anyway.
var plain = Reducer{Family: "json"}

// Object reduces one object, or the one in a table with one row, which kubectl requests. Its Value is a digest of its
// content, without the fields that differ between servers that return the same object: the
// resourceVersion, the API version, and managedFields. It is empty if the content is not
// included, as in the rows of a table, and for a Secret, of which only the metadata is
// read.
func (r Reducer) Object(text []byte) (model.Object, error) {
	read, err := r.reduce(text)
	return read.object, err
}

// reduced is what is read of an object.
type reduced struct {
	kind   string
	object model.Object
	// over says that the object is deleted with this version: see isOver.
	over bool
	// initialEnd says that a bookmark ends the initial events of its watch.
	initialEnd bool
}

func (r Reducer) reduce(text []byte) (reduced, error) { return r.seen.Of(text, r.read) }

func (r Reducer) read(text []byte) (reduced, error) {
	top, err := headOf(text)
	if err == nil && top.Kind == "Table" {
		var table collection
		if json.Unmarshal(text, &table) == nil && len(table.Rows) == 1 {
			text = table.Rows[0].Object
			top, err = headOf(text)
		}
	}
	if err != nil {
		return reduced{}, err
	}
	meta := &top.Metadata
	read := reduced{kind: top.Kind, over: top.isOver(), initialEnd: meta.Annotations["k8s.io/initial-events-end"] == "true"}
	object := &read.object
	object.Namespace, object.Name, object.UID = meta.Namespace, meta.Name, meta.UID
	if meta.ResourceVersion != "" {
		rv, err := parseRV(meta.ResourceVersion)
		if err != nil {
			return read, err
		}
		object.RV = rv
	}
	object.Labels = meta.Labels
	if r.Blind || top.Kind == "Secret" || top.Kind == "PartialObjectMetadata" {
		return read, nil
	}
	object.Node = top.spec().NodeName
	digest, err := r.digest(text)
	object.Value = digest
	return read, err
}

// head has the fields of all objects that are read.
type head struct {
	Kind     string          `json:"kind"`
	Metadata metadata        `json:"metadata"`
	Spec     json.RawMessage `json:"spec"`
}

func headOf(text []byte) (head, error) {
	var top head
	if err := json.Unmarshal(text, &top); err != nil {
		return top, misfit("an object", err)
	}
	return top, nil
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

// spec returns the fields that only some kinds have: the node, and the finalizers of a
// namespace. They are empty for other kinds.
func (h *head) spec() (spec struct {
	NodeName   string   `json:"nodeName"`
	Finalizers []string `json:"finalizers"`
}) {
	_ = json.Unmarshal(h.Spec, &spec)
	return spec
}

// digest returns the digest of the content with its fields sorted.
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
	untypeTemplates(content)
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

// untypeTemplates removes the kind and API version of the claims in the templates of a stateful set, which protobuf does not hold.
func untypeTemplates(content map[string]any) {
	spec, _ := content["spec"].(map[string]any)
	templates, _ := spec["volumeClaimTemplates"].([]any)
	for _, template := range templates {
		if claim, is := template.(map[string]any); is {
			delete(claim, "kind")
			delete(claim, "apiVersion")
		}
	}
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

// prune removes empty fields: whether they are present depends on the encoder of the
// object.
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

// List reduces a list of any kind, or a table, which kubectl requests.
func (r Reducer) List(text []byte) (List, error) {
	var raw collection
	if err := json.Unmarshal(text, &raw); err != nil {
		return List{}, misfit("a list", err)
	}
	if raw.Metadata.ResourceVersion == "" {
		return List{}, fmt.Errorf("expected a list with a resourceVersion, found the kind %.50q without one", raw.Kind)
	}
	rv, err := parseRV(raw.Metadata.ResourceVersion)
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
		object, err := r.Object(item)
		if err != nil {
			return List{}, fmt.Errorf("item %d: %w", i+1, err)
		}
		if raw.Kind == "SecretList" { // items of built-in types have no kind
			object.Node, object.Value = "", ""
		}
		list.Objects = append(list.Objects, object)
	}
	return list, nil
}

// Event reduces a watch event. The caller sets the stream's ID and the time.
func (r Reducer) Event(text []byte) (event model.Event, kind string, err error) {
	of, object, err := CutEvent(text)
	if err != nil {
		return event, "", err
	}
	return r.EventOf(of, object)
}

// CutEvent returns the type of a watch event and the object in it.
func CutEvent(text []byte) (of model.EventType, object []byte, err error) {
	var raw struct {
		Type   model.EventType `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return "", nil, misfit("a watch event", err)
	}
	if raw.Type == "" || len(raw.Object) == 0 {
		return "", nil, errors.New("expected a watch event with the fields type and object, found one of them missing")
	}
	return raw.Type, raw.Object, nil
}

// EventOf reduces a watch event that CutEvent has parsed.
func (r Reducer) EventOf(of model.EventType, text []byte) (event model.Event, kind string, err error) {
	event.Type = of
	if of == model.Error {
		event.Err = FailureOf(0, text)
		return event, "Status", nil
	}
	read, err := r.reduce(text)
	event.RV = read.object.RV
	switch {
	case of == model.Bookmark:
		event.InitialEnd = read.initialEnd
	case err == nil:
		event.Object = &read.object
	}
	return event, read.kind, err
}

// misfit says in one line what was expected, without the names of Go types.
func misfit(expected string, err error) error {
	if of, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		return fmt.Errorf("expected %s, found a JSON %s in the field %q", expected, of.Value, of.Field)
	}
	return fmt.Errorf("expected %s, found %w", expected, err)
}
