package linearizability

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/model"
)

// at prints a simulated time.
func at(nanoseconds int64) string {
	if nanoseconds == model.Pending {
		return "never"
	}
	return time.Duration(nanoseconds).String()
}

// describeRV prints the RV of a request.
func describeRV(rv int64) string {
	if rv == model.RVUnset {
		return "RV unset"
	}
	return fmt.Sprintf("RV %d", rv)
}

// describeQuery prints what a list or watch selects.
func describeQuery(scope model.Scope, selector model.Selector) string {
	parts := []string{"all objects"}
	switch {
	case scope.Namespace != "" && scope.Name != "":
		parts[0] = scope.Namespace + "/" + scope.Name
	case scope.Namespace != "":
		parts[0] = "namespace " + scope.Namespace
	case scope.Name != "":
		parts[0] = "name " + scope.Name
	}
	names := make([]string, 0, len(selector.Labels))
	for name := range selector.Labels {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		parts = append(parts, name+"="+selector.Labels[name])
	}
	if selector.Node != "" {
		parts = append(parts, "spec.nodeName="+selector.Node)
	}
	return strings.Join(parts, ", ")
}

// describeStream names a stream and what was asked of it.
func describeStream(s *model.Stream) string {
	text := fmt.Sprintf("stream %d of client %s on server %s (%s, from %s", s.ID, s.Client, s.Server,
		describeQuery(s.Scope, s.Selector), describeRV(s.RV))
	if s.InitialEvents {
		text += ", with initial events"
	}
	return text + ", opened at " + at(s.Call) + ")"
}

// describeOperation names an operation, what was asked and when.
func describeOperation(op *model.Operation) string {
	what := string(op.Kind) + " "
	if op.Kind == model.List {
		what += describeQuery(op.Scope, op.Selector) + " at " + describeRV(op.RV)
		if op.Match != model.MatchUnset {
			what += " " + string(op.Match)
		}
		if op.Limit > 0 {
			what += fmt.Sprintf(" limit %d", op.Limit)
		}
		if op.Continues != 0 {
			what += fmt.Sprintf(" continuing %d", op.Continues)
		}
	} else {
		what += keyOf(op).String()
		if op.Kind == model.Get {
			what += " at " + describeRV(op.RV)
		}
		if op.Precondition != 0 {
			what += fmt.Sprintf(" if at RV %d", op.Precondition)
		}
	}
	return fmt.Sprintf("operation %d of client %s on server %s (%s, %s to %s)",
		op.ID, op.Client, op.Server, what, at(op.Call), at(op.Return))
}

// describeOutcome prints what an operation returned.
func describeOutcome(op *model.Operation) string {
	switch {
	case unknown(op):
		return "an unknown outcome"
	case op.Err != model.OK:
		return string(op.Err)
	case op.ResultRV != 0:
		return fmt.Sprintf("RV %d", op.ResultRV)
	}
	return "success"
}

// describeEvent prints an event and when it arrived.
func describeEvent(e *model.Event) string {
	text := string(e.Type)
	if e.InitialEnd {
		text = "initial-events-end " + text
	}
	if e.Object != nil && e.Type != model.Bookmark {
		text += " " + e.Object.Key().String()
	}
	if e.Type == model.Error {
		text += " " + string(e.Err)
	} else {
		text += fmt.Sprintf(" at RV %d", e.RV)
	}
	return text + ", received at " + at(e.Time)
}

// describeTransition prints an event that is owed.
func describeTransition(t *model.Transition) string {
	return fmt.Sprintf("%s %s at RV %d", t.Type, t.Object.Key(), t.RV)
}

// describeDifference says which fields of an object are not as they should be.
func describeDifference(want, got *model.Object) string {
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
