package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/model"
)

// at prints a simulated time, as the report's list of faults does.
func at(nanoseconds int64) string {
	if nanoseconds == model.Pending {
		return "never"
	}
	if nanoseconds > 0 && nanoseconds < int64(time.Millisecond) {
		return time.Duration(nanoseconds).String()
	}
	return fmt.Sprintf("%.3fs", time.Duration(nanoseconds).Seconds())
}

// list joins with commas, and the last with "and".
func list(parts []string) string {
	switch len(parts) {
	case 0:
		return ""
	case 1:
		return parts[0]
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// shown limits how many things of one sort a sentence names.
const shown = 4

// some returns the first few and says how many more there are.
func some(parts []string) []string {
	if len(parts) <= shown {
		return parts
	}
	return append(slices.Clone(parts[:shown]), fmt.Sprintf("%d more", len(parts)-shown))
}

// count prints a number with the thing that is counted.
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// query prints what a list or watch selects.
func query(scope model.Scope, selector model.Selector) string {
	text := "all objects"
	switch {
	case scope.Namespace != "" && scope.Name != "":
		text = "object " + scope.Namespace + "/" + scope.Name
	case scope.Namespace != "":
		text = "namespace " + scope.Namespace
	case scope.Name != "":
		text = "objects named " + scope.Name
	}
	var conditions []string
	for name, value := range selector.Labels {
		conditions = append(conditions, name+"="+value)
	}
	slices.Sort(conditions)
	if selector.Node != "" {
		conditions = append(conditions, "spec.nodeName="+selector.Node)
	}
	if len(conditions) > 0 {
		text += " with " + list(conditions)
	}
	return text
}

// requested prints the resourceVersion of a request.
func requested(rv int64) string {
	if rv == model.RVUnset {
		return "no resourceVersion"
	}
	return fmt.Sprintf("RV %d", rv)
}

// event prints an event and when it came.
func event(e *model.Event) string {
	text := string(e.Type)
	if e.InitialEnd {
		text = "the mark of the initial block's end"
	}
	if e.Object != nil && e.Type != model.Bookmark {
		text += " " + e.Object.Key().String()
	}
	if e.Type == model.Error {
		text += " " + string(e.Err)
	} else {
		text += fmt.Sprintf(" at RV %d", e.RV)
	}
	return text + " (" + at(e.Time) + ")"
}

func isData(e *model.Event) bool {
	return e.Type == model.Added || e.Type == model.Modified || e.Type == model.Deleted
}

// quoted prints a server's message after a code, if there is one.
func quoted(code model.Code, message string) string {
	if message == "" {
		return string(code)
	}
	if len(message) > 80 {
		message = message[:80] + "..."
	}
	return fmt.Sprintf("%s (%q)", code, message)
}

// interval prints when an operation was under way.
func interval(op *model.Operation) string {
	if op.Return == model.Pending {
		return at(op.Call) + ", without a response"
	}
	if op.Err == model.Unknown {
		return at(op.Call) + " to " + at(op.Return) + ", outcome unknown"
	}
	return at(op.Call) + " to " + at(op.Return)
}

// keyOf returns the object that an operation is about.
func keyOf(op *model.Operation) model.Key {
	if op.Object != nil {
		return op.Object.Key()
	}
	return model.Key{Namespace: op.Scope.Namespace, Name: op.Scope.Name}
}

// join puts sentences one after the other.
func join(sentences []string) string { return strings.Join(sentences, " ") }
