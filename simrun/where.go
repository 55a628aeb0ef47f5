package simrun

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
)

// errWhere means that a place in a run is malformed or does not exist.
var errWhere = errors.New("no such place in the run")

// whereForms lists the forms of a place.
const whereForms = "a simulated time such as 12.5s, or rv=32, operation=88, stream=92, event=92/3, decision=812"

// where is a place in a run: a time of its history, or a decision.
type where struct {
	at       time.Duration
	decision uint64
}

// parseWhere parses a place. It looks up a revision, an operation, a stream or an event in the
// history: the place is when the change was first seen, the answer came, the watch was requested,
// or the event arrived.
func parseWhere(text string, history func() (*model.History, error)) (where, error) {
	name, value, named := strings.Cut(text, "=")
	if !named {
		at, err := time.ParseDuration(text)
		if err != nil || at < 0 {
			return where{}, fmt.Errorf("%w: expected %s, found %q", errWhere, whereForms, text)
		}
		return where{at: at}, nil
	}
	first, second, _ := strings.Cut(value, "/")
	number, err := strconv.ParseInt(first, 10, 64)
	index := int64(1)
	if err == nil && name == "event" {
		index, err = strconv.ParseInt(second, 10, 64)
	}
	if err != nil || number < 1 || index < 1 || (name != "event" && second != "") {
		return where{}, fmt.Errorf("%w: expected %s, found %q", errWhere, whereForms, text)
	}
	if name == "decision" {
		return where{decision: uint64(number)}, nil
	}
	h, err := history()
	if err != nil {
		return where{}, err
	}
	at := model.Pending
	switch name {
	case "rv":
		if seen, ok := explain.New(h).Seen(number); ok {
			at = seen
		}
	case "operation":
		for op := range model.Each(h.Operations) {
			if op.ID == int(number) {
				at = max(op.Call, op.Return)
			}
		}
	case "stream", "event":
		for s := range model.Each(h.Streams) {
			if s.ID == int(number) && name == "stream" {
				at = s.Call
			} else if s.ID == int(number) && index <= int64(len(s.Events)) {
				at = s.Events[index-1].Time
			}
		}
	default:
		return where{}, fmt.Errorf("%w: expected %s, found %q", errWhere, whereForms, text)
	}
	if at == model.Pending {
		return where{}, fmt.Errorf("%w: expected something that the history has, found nothing for %q", errWhere, text)
	}
	return where{at: time.Duration(at)}, nil
}

// parseBranch parses where a run begins to follow another seed, and which.
func parseBranch(text string, spec scenario.Spec, history func() (*model.History, error)) (scenario.Branch, error) {
	rest, redraw := strings.CutSuffix(text, ",redraw")
	place, seed, found := strings.Cut(rest, ",seed=")
	number, err := strconv.ParseUint(seed, 10, 64)
	if !found || err != nil {
		return scenario.Branch{}, fmt.Errorf("--branch: expected a place and a seed, such as 12.5s,seed=3 or decision=812,seed=3, found %q", text)
	}
	at, err := parseWhere(place, history)
	if err != nil {
		return scenario.Branch{}, fmt.Errorf("--branch: %w", err)
	}
	if redraw && at.at == 0 {
		return scenario.Branch{}, fmt.Errorf("--branch: expected a time, such as 12.5s, from which to redraw what clients ask for and the faults, found %q", text)
	}
	if redraw {
		return spec.Redrawn(at.at, number)
	}
	return scenario.Branch{At: sim.Mark{Decision: at.decision, Instant: at.at}, Seed: number}, nil
}

// noHistory is for runs that do not exist yet.
func noHistory() (*model.History, error) {
	return nil, fmt.Errorf("%w: expected a time or a decision of a run that is yet to be made; `simrun replay --branch` finds other places", errWhere)
}
