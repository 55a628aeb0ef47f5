package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// This file has the wording of reports for the parts of a history, so that a stream
// is described in the same words in a violation, an explanation and a diagram.

// At prints a simulated time.
func At(nanoseconds int64) string {
	switch {
	case nanoseconds == Pending:
		return "never"
	case nanoseconds > 0 && nanoseconds < int64(time.Millisecond):
		return time.Duration(nanoseconds).String()
	}
	return fmt.Sprintf("%.3fs", time.Duration(nanoseconds).Seconds())
}

// Plural prints a number with the thing that is counted.
func Plural(n int, one string) string {
	switch {
	case n == 1:
		return "1 " + one
	case strings.HasSuffix(one, "watch"):
		return fmt.Sprintf("%d %ses", n, one)
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// Enumerate joins parts with commas, and the last with "and".
func Enumerate(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// Requested prints the resourceVersion of a request.
func Requested(rv int64) string {
	if rv == RVUnset {
		return "no resourceVersion"
	}
	return fmt.Sprintf("RV %d", rv)
}

// Query prints the scope and selector of a list or watch.
func Query(scope Scope, selector Selector) string {
	text := "all objects"
	switch {
	case scope.Namespace != "" && scope.Name != "":
		text = "object " + scope.Namespace + "/" + scope.Name
	case scope.Namespace != "":
		text = "namespace " + scope.Namespace
	case scope.Name != "":
		text = "objects named " + scope.Name
	}
	conditions := pairs(selector.Labels)
	if selector.Node != "" {
		conditions = append(conditions, "spec.nodeName="+selector.Node)
	}
	if len(conditions) > 0 {
		text += " with " + Enumerate(conditions)
	}
	return text
}

// pairs prints labels, in order.
func pairs(labels map[string]string) []string {
	texts := make([]string, 0, len(labels)+1)
	for name, value := range labels {
		texts = append(texts, name+"="+value)
	}
	slices.Sort(texts)
	return texts
}

// IsData reports whether an event is about an object's change or state.
func (e *Event) IsData() bool { return e.Type == Added || e.Type == Modified || e.Type == Deleted }

// Describe names an event without its time.
func (e *Event) Describe() string {
	switch {
	case e.Type == Error:
		return strings.TrimSpace("ERROR " + string(e.Err))
	case e.InitialEnd:
		return fmt.Sprintf("the initial-events-end %s (RV %d)", e.Type, e.RV)
	case e.Object == nil || e.Type == Bookmark:
		return fmt.Sprintf("%s (RV %d)", e.Type, e.RV)
	}
	return fmt.Sprintf("%s %s (RV %d)", e.Type, e.Object.Key(), e.RV)
}

// Describe names an event that a stream is owed.
func (t *Transition) Describe() string {
	return fmt.Sprintf("%s %s (RV %d)", t.Type, t.Object.Key(), t.RV)
}

// Describe names a stream and its request.
func (s *Stream) Describe() string {
	text := fmt.Sprintf("stream %d on %s, opened at %s for %s from %s", s.ID, s.Server, At(s.Call), Query(s.Scope, s.Selector), Requested(s.RV))
	if s.InitialEvents {
		text += " with initial events"
	}
	return text
}

// EndReason says how a stream ended, as a clause; empty if it was open until the end.
func (s *Stream) EndReason() string {
	if s.Closed == Pending {
		return ""
	}
	switch s.Reason {
	case ClosedByClient:
		return "the client closed it"
	case ClosedByServer:
		return "the server ended it"
	case ClosedByError:
		return "an ERROR event ended it"
	case ClosedByReset:
		return "its connection broke"
	}
	return "it ended for an unknown reason"
}

// Key returns the object that a write or get is about.
func (op *Operation) Key() Key {
	if op.Object != nil {
		return op.Object.Key()
	}
	return Key{Namespace: op.Scope.Namespace, Name: op.Scope.Name}
}

// IsWrite reports whether the operation may change an object.
func (op *Operation) IsWrite() bool {
	return op.Kind == Create || op.Kind == Update || op.Kind == Delete
}

// Lost reports whether the client does not know the outcome of its request.
func (op *Operation) Lost() bool { return op.Err == Unknown || op.Return == Pending }

// Describe names an operation by its client, kind and object or query.
func (op *Operation) Describe() string {
	what := op.Key().String()
	if op.Kind == List {
		what = Query(op.Scope, op.Selector)
	}
	return fmt.Sprintf("%s's %s of %s (operation %d)", op.Client, op.Verb(), what, op.ID)
}

// Verb returns the kind of an operation, or "patch".
func (op *Operation) Verb() string {
	if len(op.Patch) > 0 {
		return "patch"
	}
	return string(op.Kind)
}

// Request describes the request of an operation, as a clause.
func (op *Operation) Request() string {
	var text string
	if op.Kind == List {
		text = "list " + Query(op.Scope, op.Selector)
	} else {
		text = fmt.Sprintf("%s %s", op.Verb(), op.Key())
	}
	switch {
	case len(op.Patch) > 0:
		text += " to have " + Enumerate(pairs(op.Patch))
	case !op.IsWrite():
		text += " at " + Requested(op.RV)
	}
	switch op.Match {
	case MatchExact:
		text += " exactly"
	case MatchNotOlderThan:
		text += " or newer"
	}
	if op.Limit > 0 {
		text += fmt.Sprintf(", limit %d", op.Limit)
	}
	if op.Continues != 0 {
		text += fmt.Sprintf(", continuing operation %d", op.Continues)
	}
	if op.Touch && len(op.Patch) == 0 {
		text += " by a write that may change nothing"
	}
	if op.Kind == Delete && op.Object != nil && op.Object.UID != "" {
		text += " if its UID is " + op.Object.UID
	}
	if op.Precondition != 0 {
		text += fmt.Sprintf(" if it is at RV %d", op.Precondition)
	}
	return text
}

// Interval says from when to when an operation lasted.
func (op *Operation) Interval() string {
	switch {
	case op.Return == Pending:
		return At(op.Call) + ", without a response"
	case op.Err == Unknown:
		return At(op.Call) + " to " + At(op.Return) + ", outcome unknown"
	}
	return At(op.Call) + " to " + At(op.Return)
}

// Outcome says what an operation returned, as a noun.
func (op *Operation) Outcome() string {
	switch {
	case op.Lost():
		return "an unknown outcome"
	case op.Err != OK:
		return string(op.Err)
	case op.ResultRV != 0:
		return fmt.Sprintf("RV %d", op.ResultRV)
	}
	return "success"
}

// DescribeDifference says which fields of an object differ from the expected ones.
func DescribeDifference(want, got *Object) string {
	var parts []string
	add := func(field string, want, got any) {
		if w, g := fmt.Sprint(want), fmt.Sprint(got); w != g {
			parts = append(parts, fmt.Sprintf("%s %q instead of %q", field, g, w))
		}
	}
	add("RV", want.RV, got.RV)
	add("namespace", want.Namespace, got.Namespace)
	add("name", want.Name, got.Name)
	add("value", want.Value, got.Value)
	add("labels", want.Labels, got.Labels)
	add("node", want.Node, got.Node)
	add("UID", want.UID, got.UID)
	return strings.Join(parts, ", ")
}
