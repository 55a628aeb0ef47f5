package linearizability

import (
	"fmt"
	"io"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/watchsim/watchsim/model"
)

// MaxPictured is the most writes and reads in a picture. Porcupine draws each, and a
// page with more is unreadable.
const MaxPictured = 3000

// Picture writes porcupine's visualisation of a history as a page of HTML: the
// writes, and the most-recent reads of single objects, by object, in the linearization
// that was found. If there is none it shows how far the search got. It returns false,
// and writes nothing, if there is nothing to draw, or more than MaxPictured.
func Picture(history *model.History, config Config, w io.Writer) (bool, error) {
	if history.Truth.Revision == 0 || !history.Truth.InOrder() {
		return false, nil
	}
	all := claimWrites(history, model.NewStore(&history.Truth), 0)
	all.complete(newBounds(all.writes, history))
	specification, operations := all.searched(each)
	if len(operations) == 0 || len(operations) > MaxPictured {
		return false, nil
	}
	clients := map[string]int{}
	for i := range operations {
		name := pictured(operations[i].Input.(*call))
		if _, known := clients[name]; !known {
			clients[name] = len(clients)
		}
		operations[i].ClientId = clients[name]
	}
	specification.DescribeOperation = func(input, _ any) string { return plain(describeCall(input.(*call))) }
	specification.DescribeState = func(state any) string { return fmt.Sprintf("%d versions made", state.(int)) }
	_, info := porcupine.CheckOperationsVerbose(specification, operations, config.SearchTimeout)
	return true, porcupine.Visualize(specification, info, w)
}

// pictured returns the client whose row a call is in.
func pictured(c *call) string {
	if c.op == nil {
		return ""
	}
	return c.op.Client
}

// describeCall returns a call and its outcome as text.
func describeCall(c *call) string {
	if c.op == nil {
		return fmt.Sprintf("RV %d, by no recorded operation", c.register.versions[c.version].RV)
	}
	return fmt.Sprintf("%s %s: %s", c.op.Verb(), c.op.Key(), c.op.Outcome())
}

// plain replaces the characters of markup in a text: porcupine's page shows some texts
// as they are and some as HTML.
func plain(text string) string {
	return strings.NewReplacer("<", "‹", ">", "›", "&", "＆").Replace(text)
}
