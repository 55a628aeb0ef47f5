package simtest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/traces"
	"github.com/watchsim/watchsim/traces/importer"
	"github.com/watchsim/watchsim/traces/judge"
	"github.com/watchsim/watchsim/traces/recorder"
)

// recorded holds the requests of a run's clients to API servers, and the answers.
type recorded struct {
	world *sim.World
	began time.Duration // from the start of the world to that of the run
	// lines are the requests for all resources, for people.
	lines []string
	// resources has a recording of each resource, for the oracle.
	resources map[string]*recorder.Recorder
	// told are the requests for each resource in full detail, if the test uses them.
	told map[string][]*importer.Told
	zero time.Time // when the world started, by the clocks of the simulation
}

// maxRequests bounds how many requests of a run are kept for people.
const maxRequests = 100_000

// newRecorded returns a recording, with full details of requests if tell is set.
func newRecorded(world *sim.World, tell bool) *recorded {
	r := &recorded{world: world, resources: map[string]*recorder.Recorder{}}
	if tell {
		// Making a map draws a random number.
		sim.Aside(func() { r.told, r.zero = map[string][]*importer.Told{}, time.Now().Add(-world.Now()) })
	}
	return r
}

// wrap returns a transport that records a client's requests to a server. A session is one life of a
// client: within it, the client remembers what it has seen.
func (r *recorded) wrap(server, client, session string, next http.RoundTripper) http.RoundTripper {
	return &transport{recorded: r, next: next, server: server, client: client, session: session, resources: map[string]http.RoundTripper{}}
}

// transport records the requests of a session to a server.
type transport struct {
	recorded                *recorded
	next                    http.RoundTripper
	server, client, session string
	resources               map[string]http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	r, next := t.recorded, t.next
	called := r.world.Now() - r.began
	at := &route{server: t.server}
	ctx := httptrace.WithClientTrace(context.WithValue(request.Context(), routeKey{}, at), &httptrace.ClientTrace{GotConn: at.got})
	request = request.WithContext(ctx)
	sim.Aside(func() { next = t.of(request) })
	response, err := next.RoundTrip(request)
	sim.Aside(func() {
		if len(r.lines) == maxRequests {
			return
		}
		answer := fmt.Sprint(err)
		if err == nil {
			answer = response.Status
		}
		r.lines = append(r.lines, fmt.Sprintf("%v to %v: %s %s %s on %s: %s", called.Round(time.Millisecond),
			(r.world.Now()-r.began).Round(time.Millisecond), t.client, request.Method, request.URL.RequestURI(), at.server, answer))
	})
	return response, err
}

// route is the server that a request went to.
type route struct{ server string }

type routeKey struct{}

// got is called with the connection that a request is sent on.
func (r *route) got(connection httptrace.GotConnInfo) {
	if server, _, err := net.SplitHostPort(connection.Conn.RemoteAddr().String()); err == nil {
		r.server = server
	}
}

// WrappedRoundTripper lets client-go unwrap the transport.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// of returns the transport that records the resource of a request.
func (t *transport) of(request *http.Request) http.RoundTripper {
	asked, isResource, err := importer.ParseURL(request.URL)
	if !isResource || err != nil {
		return t.next
	}
	if t.resources[asked.Resource] == nil {
		into := t.recorded.resources[asked.Resource]
		if into == nil {
			options := recorder.Options{
				Clock: func() int64 { return int64(t.recorded.world.Now()) }, Do: sim.Aside,
				Server: func(request *http.Request) string { return request.Context().Value(routeKey{}).(*route).server },
			}
			if told := t.recorded.told; told != nil {
				options.Tell = func(one *importer.Told) { told[asked.Resource] = append(told[asked.Resource], one) }
			}
			into = recorder.New(asked.Resource, options)
			t.recorded.resources[asked.Resource] = into
		}
		t.resources[asked.Resource] = into.Wrap(t.server, t.session)(t.next)
	}
	return t.resources[asked.Resource]
}

// histories returns the recording of each resource, sorted by name, with the commits of etcd and
// the faults. Call it outside of the simulation.
func (r *recorded) histories(committed model.Truth, faults []model.Fault) (all []history, err error) {
	for _, resource := range slices.Sorted(maps.Keys(r.resources)) {
		recorded := r.resources[resource]
		recorded.World(committed, faults)
		one := history{resource: resource}
		if one.header, one.history, one.omitted, err = recorded.History(); err != nil {
			return nil, fmt.Errorf("what was recorded of %s: %w", resource, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// history is the recording of one resource.
type history struct {
	resource string
	header   traces.Header
	history  *model.History
	omitted  []string // what it lacks, and why
}

// violations returns the guarantees of the API that the servers broke, and notes what could not be
// decided.
func (h *history) violations() (all []violation) {
	verdict := judge.RealCluster(h.history)
	if verdict.Severity() == judge.Inconclusive {
		h.omitted = append(h.omitted, "inconclusive: "+verdict.Reason)
	}
	for _, one := range verdict.Violations {
		all = append(all, violation{h.resource, one.Guarantee, strings.TrimSpace(explain.Text(one.Text, one.Explanation))})
	}
	return all
}

// jsonLines returns the history in the format of docs/history-format.md.
func (h history) jsonLines() (string, error) {
	var text strings.Builder
	err := traces.WriteHistory(&text, h.header, h.history)
	return text.String(), err
}

// maxUnread is how long a client may leave an open watch unread, as one does whose handlers are slow.
const maxUnread = 2 * time.Minute

// abandoned says which watches clients have left open without reading them: whoever was to consume the events is gone, and the API server keeps
// such a watch, and what it sends, until the connection ends (kubernetes/kubernetes #131266).
func (c *Cluster) abandoned() (all []string) {
	sim.Aside(func() {
		r := c.recorded
		now := r.world.Now()
		for _, resource := range slices.Sorted(maps.Keys(r.resources)) {
			for _, w := range r.resources[resource].Abandoned(int64(now - maxUnread)) {
				if c.isOver(w.Client) {
					continue
				}
				at := func(ns int64) time.Duration { return (time.Duration(ns) - r.began).Round(time.Millisecond) }
				all = append(all, fmt.Sprintf("%s opened a watch of %s at %v, has read nothing from it since %v, and has not closed it: %s keeps it open for nobody",
					w.Client, resource, at(w.Opened), at(w.Read), w.Server))
			}
		}
	})
	return all
}

// isOver reports whether a session was that of a program in a life that has ended.
func (c *Cluster) isOver(session string) bool {
	return slices.ContainsFunc(c.programs, func(p *program) bool {
		client, _, _ := strings.Cut(session, " (life ")
		return client == p.name && (p.process == nil || session != c.session(p.name))
	})
}
