package workload

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/watchsim/watchsim/model"
)

// ScriptLine is one line of a script: what a client does, and when. A workload with a script has
// only the clients that the script names, and the final writer. A script draws nothing at random:
// it is for scenarios small enough to try all their schedules.
type ScriptLine struct {
	Client string
	// At is when the action begins, since the start of the run, unless the one before
	// takes longer.
	At time.Duration
	Do Action
	// Server is the index of the server that is asked.
	Server int
	// Name is the name of an object in the first namespace. Lists and watches ignore it
	// and cover everything.
	Name string
	// From is where a watch starts, or the resourceVersion of a list.
	From From
	// For is how long a client watches; it re-establishes a watch that ends earlier. 0
	// means to the end of the run.
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

// From says where a watch or a list starts.
type From string

// The values of From.
const (
	// FromState is the current state as ADDED events, up to a bookmark.
	FromState From = "state"
	// FromAny is any state that the cache holds: RV 0.
	FromAny From = "any"
	// FromKnown is the newest resourceVersion that the client has seen.
	FromKnown From = "known"
	// FromNewest is the newest state: no RV at all.
	FromNewest From = "newest"
)

// ErrScript means that a script is invalid.
var ErrScript = errors.New("impossible script")

// validateScript returns the first error that makes a script unusable.
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

// scripted returns the names of the clients in the script, in order of appearance; if
// watching, only those that watch.
func (c Config) scripted(watching bool) []string {
	var names []string
	for _, line := range c.Script {
		if (line.Do == DoWatch || !watching) && !slices.Contains(names, line.Client) {
			names = append(names, line.Client)
		}
	}
	return names
}

// scriptedOnly returns the clients of the script that Consumers does not name.
func (c Config) scriptedOnly() []string {
	watching := c.scripted(true)
	return slices.DeleteFunc(c.scripted(false), func(name string) bool { return slices.Contains(watching, name) })
}

// performer is a client that follows a script.
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
		p := &performer{writer: writer{client: w.client(name)}}
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

// perform executes one line after another. Each is a step.
func (p *performer) perform(lines []ScriptLine) {
	schedule := make([]time.Duration, len(lines))
	for i, line := range lines {
		schedule[i] = line.At
	}
	p.client.follow(p.alive, schedule, func(i int) int {
		if i < len(lines) {
			p.execute(lines[i])
		}
		return 1
	})
}

func (p *performer) execute(line ScriptLine) {
	server := p.servers[min(line.Server, len(p.servers)-1)]
	key := model.Key{Namespace: p.catalog.config.Namespaces[0], Name: line.Name}
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

// rv returns the resourceVersion to request.
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

// watch watches for as long as the line says. If a stream ends earlier, it resumes
// after the last event, or starts from the current state if that RV has expired.
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

// follow opens a stream, reads it to its end, and returns where the next one starts.
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
