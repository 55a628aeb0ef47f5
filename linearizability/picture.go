package linearizability

import (
	"fmt"
	"io"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/watchsim/watchsim/model"
)

// PictureMost is how many writes and reads a picture may hold. Porcupine draws
// each, and a page with more is of no use to anybody.
const PictureMost = 3000

// Picture writes porcupine's own picture of a history as a page of HTML: the
// writes, and the reads of single objects that ask for the newest, object by
// object, in the order that was found for them. Where there is none it shows how
// far the search came. It reports false, and writes nothing, if there is nothing
// to draw, or more than PictureMost.
func Picture(history *model.History, config Config, w io.Writer) (bool, error) {
	c := &checker{history: history, config: config, reported: map[source]*report{}}
	if history.Truth.Revision == 0 || !c.checkRevision() {
		return false, nil
	}
	c.store = model.NewStore(&history.Truth)
	specification, operations := c.claimWrites().searched()
	if len(operations) == 0 || len(operations) > PictureMost {
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

// pictured is whose row a call stands in.
func pictured(c *call) string {
	if c.op == nil {
		return ""
	}
	return c.op.Client
}

// describeCall says what a call did, and what came of it.
func describeCall(c *call) string {
	if c.op == nil {
		return fmt.Sprintf("RV %d, by nobody who was recorded", c.register.versions[c.version].RV)
	}
	text := fmt.Sprintf("%s %s", c.op.Kind, keyOf(c.op))
	switch {
	case unknown(c.op):
		return text + ": unknown"
	case c.op.Err != model.OK:
		return text + ": " + string(c.op.Err)
	case c.op.ResultRV != 0:
		return fmt.Sprintf("%s: RV %d", text, c.op.ResultRV)
	}
	return text + ": done"
}

// plain takes out of a text what would be markup: porcupine's page shows some
// texts as they are and some as HTML.
func plain(text string) string {
	return strings.NewReplacer("<", "‹", ">", "›", "&", "＆").Replace(text)
}
