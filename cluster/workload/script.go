package workload

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/watchsim/watchsim/model"
)

// ScriptLine is one line of a script: what a client does, and when. A workload with a
// script has no other clients than those that the script names, and the final writer.
// Nothing in it is drawn: a script is for scenarios so small that all schedules of
// them can be tried.
type ScriptLine struct {
	Client string
	// At is when the action begins unless the one before takes longer, since the start of
	// the run.
	At time.Duration
	Do Action
	// Server is which of the servers is asked, from 0.
	Server int
	// Name is that of an object in the first namespace, for all but lists and watches,
	// which are of everything.
	Name string
	// From is where a watch begins, and what resourceVersion a list may be served at.
	From From
	// For is how long a watch is kept, and begun again from where it was if it ends
	// before; 0 is to the end of the run.
	For time.Duration
	// Pace is how long the client takes for each event of a watch.
	Pace time.Duration
}

// Action is what a line of a script does.
type Action string

// The actions.
const (
	DoCreate Action = "create"
	DoUpdate Action = "update"
	DoDelete Action = "delete"
	DoList   Action = "list"
	DoWatch  Action = "watch"
)

// From is where a watch begins.
type From string

// Where a watch can begin, or what a list may be served at.
const (
	// FromState is the current state as ADDED events, up to a bookmark.
	FromState From = "state"
	// FromAny is any state that the cache has: RV 0.
	FromAny From = "any"
	// FromKnown is the newest resourceVersion that the client has seen.
	FromKnown From = "known"
	// FromNewest is the newest state: no RV at all.
	FromNewest From = "newest"
)

// ErrScript means that a script cannot be performed.
var ErrScript = errors.New("impossible script")

// validateScript reports the first thing that makes a script unusable.
func (c Config) validateScript() error {
	for i, line := range c.Script {
		writes := line.Do == DoCreate || line.Do == DoUpdate || line.Do == DoDelete
		switch {
		case line.Client == "" || line.Client == FinalWriter:
			return fmt.Errorf("%w: line %d: expected the name of a client other than %s, found %q", ErrScript, i+1, FinalWriter, line.Client)
		case !writes && line.Do != DoList && line.Do != DoWatch:
			return fmt.Errorf("%w: line %d: expected create, update, delete, list or watch, found %q", ErrScript, i+1, line.Do)
		case writes && !slices.Contains(c.Names, line.Name):
			return fmt.Errorf("%w: line %d: expected one of the names %v, found %q", ErrScript, i+1, c.Names, line.Name)
		case !writes && !slices.Contains([]From{FromState, FromAny, FromKnown, FromNewest}, line.From):
			return fmt.Errorf("%w: line %d: expected to begin at state, any, known or newest, found %q", ErrScript, i+1, line.From)
		case line.At < 0 || line.At > c.Active():
			return fmt.Errorf("%w: line %d: expected a time up to %v, when faults have healed, found %v", ErrScript, i+1, c.Active(), line.At)
		}
	}
	return nil
}

// scripted are the names of the clients of the script, in order of appearance; with
// watching only those that watch.
func (c Config) scripted(watching bool) []string {
	var names []string
	for _, line := range c.Script {
		if (line.Do == DoWatch || !watching) && !slices.Contains(names, line.Client) {
			names = append(names, line.Client)
		}
	}
	return names
}

// scriptedOnly are those of the script that Consumers does not name.
func (c Config) scriptedOnly() []string {
	watching := c.scripted(true)
	return slices.DeleteFunc(c.scripted(false), func(name string) bool { return slices.Contains(watching, name) })
}

// performer is a client that follows the script.
type performer struct {
	writer
	consumer *consumer
	backoff  backoff
}

// startScript starts the clients of the script.
func (w *Workload) startScript() {
	for _, name := range w.config.scripted(false) {
		if _, ok := w.config.part(name); !ok {
			continue
		}
		p := &performer{writer: writer{client: w.client(name)}, backoff: w.newBackoff()}
		p.consumer = w.newConsumer(&p.client)
		var lines []ScriptLine
		for _, line := range w.config.Script {
			if line.Client == name {
				lines = append(lines, line)
			}
		}
		w.start(&w.followers, name, func() { p.perform(lines) })
	}
}

// perform executes one line after the other. Each is a step.
func (p *performer) perform(lines []ScriptLine) {
	if p.part != nil {
		p.takePart(p.alive, func(step Step) {
			if step.Number <= len(lines) {
				p.execute(lines[step.Number-1])
			}
		})
		return
	}
	for i, line := range lines {
		if !p.begin(p.alive, i+1, line.At) {
			return
		}
		p.execute(line)
	}
}

func (p *performer) execute(line ScriptLine) {
	server := p.servers[min(line.Server, len(p.servers)-1)]
	key := objectKey{p.catalog.config.Namespaces[0], line.Name}
	switch line.Do {
	case DoCreate:
		p.create(server, key)
	case DoUpdate:
		p.update(server, key, "", 0)
	case DoDelete:
		p.delete(server, key, 0)
	case DoList:
		p.do(server, &model.Operation{Kind: model.List, RV: p.rv(line.From)}, "")
	case DoWatch:
		p.watch(server, line)
	}
}

// rv is the resourceVersion to ask for.
func (p *performer) rv(from From) int64 {
	switch {
	case from == FromAny:
		return 0
	case from == FromKnown && p.knowledge.newest() > 0:
		return p.knowledge.newest()
	default:
		return model.RVUnset
	}
}

// watch watches for as long as the line says. A stream that ends before is begun
// again from the last event, or from the current state if that is too old.
func (p *performer) watch(server *session, line ScriptLine) {
	from, until := line.From, time.Now().Add(line.For)
	for p.alive.Err() == nil && (line.For == 0 || time.Until(until) > 0) {
		own := pace{name: Fast}
		if line.Pace > 0 {
			own = pace{name: Slow, delay: line.Pace}
		}
		request := model.Stream{RV: p.rv(from), Bookmarks: true, InitialEvents: from == FromState}
		request.Consumer = p.consumer.begin(own)
		if line.For == 0 {
			from = p.follow(server, &request, 0, from)
		} else {
			from = p.follow(server, &request, time.Until(until), from)
		}
	}
}

// follow opens a stream and reads it to its end, and returns where the next is to
// begin.
func (p *performer) follow(server *session, request *model.Stream, length time.Duration, from From) From {
	stream := server.watch(p.alive, request, p.consumer)
	if stream == nil {
		if request.Err == model.Expired {
			from = FromState
		}
		p.backoff.fail(p.alive, p.random)
		return from
	}
	p.backoff.succeed()
	release := stream.stopAfter(length)
	defer release()
	for {
		event, _, ok := stream.Next()
		switch {
		case !ok && p.knowledge.newest() == 0:
			return from
		case !ok:
			return FromKnown
		case event.Type == model.Error:
			return FromState
		}
		p.knowledge.seeRV(event.RV)
	}
}
