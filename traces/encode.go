package traces

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/watchsim/watchsim/model"
)

// The functions below write what encoding/json would, field by field in the same
// order, at a fraction of the cost. A test compares the two.

func (l *lineWriter) change(change *model.Change) {
	l.begin(kindChange)
	b := append(l.buffer, `{"rv":`...)
	b = strconv.AppendInt(b, change.RV, 10)
	if change.Deleted {
		b = append(b, `,"deleted":true`...)
	}
	if change.Expired {
		b = append(b, `,"expired":true`...)
	}
	b = append(b, `,"object":`...)
	b = appendObject(b, &change.Object)
	l.buffer = append(b, '}')
	l.end()
}

// event writes an event under its stream's ID, whatever Event.Stream says.
func (l *lineWriter) event(stream int, event *model.Event) {
	l.begin(kindEvent)
	b := append(l.buffer, `{"stream":`...)
	b = strconv.AppendInt(b, int64(stream), 10)
	b = append(b, `,"time":`...)
	b = strconv.AppendInt(b, event.Time, 10)
	b = append(b, `,"type":`...)
	b = appendString(b, string(event.Type))
	b = append(b, `,"rv":`...)
	b = strconv.AppendInt(b, event.RV, 10)
	if event.Object != nil {
		b = append(b, `,"object":`...)
		b = appendObject(b, event.Object)
	}
	if event.InitialEnd {
		b = append(b, `,"initialEnd":true`...)
	}
	b = appendField(b, `,"err":`, string(event.Err))
	b = appendField(b, `,"message":`, event.Message)
	l.buffer = append(b, '}')
	l.end()
}

func appendObject(b []byte, object *model.Object) []byte {
	b = append(b, `{"namespace":`...)
	b = appendString(b, object.Namespace)
	b = append(b, `,"name":`...)
	b = appendString(b, object.Name)
	b = appendLabels(b, object.Labels)
	b = appendField(b, `,"node":`, object.Node)
	b = append(b, `,"value":`...)
	b = appendString(b, object.Value)
	b = appendField(b, `,"uid":`, object.UID)
	b = append(b, `,"rv":`...)
	b = strconv.AppendInt(b, object.RV, 10)
	return append(b, '}')
}

func appendLabels(b []byte, labels map[string]string) []byte {
	if len(labels) == 0 {
		return b
	}
	b = append(b, `,"labels":{`...)
	var few [4]string
	names := few[:0]
	for name := range labels {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, name)
		b = append(b, ':')
		b = appendString(b, labels[name])
	}
	return append(b, '}')
}

// appendField writes a field unless it is empty.
func appendField(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return appendString(append(b, name...), value)
}

// appendString writes a string in quotes. Anything that needs care is left to
// encoding/json.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // a string always marshals
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
