package simtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/traces/importer"
)

// answers is how faults alter what API servers answer a program, through all its lives.
type answers struct {
	code    int           // status code of failed requests, 0 if none fail
	oneIn   int64         // one request in this many fails
	stalled string        // the stalled watches, as in faults.Fault.Resources
	resumed chan struct{} // closed when they resume, nil if none is stalled
	lag     *lag          // how watches lag, nil if they do not
	slow    *slow         // how much longer requests take, nil if they do not
	watches []*watch      // the open ones, in the order of opening
}

// lag is how long watches hold back what they have received.
type lag struct {
	every time.Duration // the longest interval between deliveries
	over  chan struct{}
}

// slow is how much longer requests take.
type slow struct {
	resources string        // that they are for, as in faults.Fault.Resources
	most      time.Duration // what is added to one
	over      chan struct{}
}

// LagWatches implements faults.Surface.
func (c *Cluster) LagWatches(program string, every time.Duration) error {
	p, err := c.program(program)
	if err != nil {
		return err
	}
	if p.answers.lag != nil {
		close(p.answers.lag.over)
		p.answers.lag = nil
	}
	if every > 0 {
		p.answers.lag = &lag{every: every, over: make(chan struct{})}
	}
	return nil
}

// wait returns how much longer the watches of a resource hold events back. Some resources are delivered 4, 16 or 64 times
// as often as others, so that a program's view of one is fresher than of another. A period begins with a delivery, which
// takes an eighth of it: an event may come in several reads.
func (l *lag) wait(resource string, now time.Duration) time.Duration {
	hash := fnv.New32a()
	fmt.Fprint(hash, resource, l.every)
	own := hash.Sum32()
	period := l.every >> (2 * (own % 4))
	since := (now + time.Duration(own)) % period
	if since < period/8 {
		return 0
	}
	return period - since
}

// StallWatches implements faults.Surface.
func (c *Cluster) StallWatches(program, watches string) (withheld []string, err error) {
	if err := c.ResumeWatches(program); err != nil {
		return nil, err
	}
	p, err := c.program(program)
	if err != nil {
		return nil, err
	}
	a := &p.answers
	a.stalled, a.resumed = watches, make(chan struct{})
	for _, w := range a.watches {
		if faults.Selects(watches, w.resource) {
			withheld = append(withheld, w.resource)
		}
	}
	slices.Sort(withheld)
	return slices.Compact(withheld), nil
}

// ResumeWatches implements faults.Surface.
func (c *Cluster) ResumeWatches(program string) error {
	p, err := c.program(program)
	if err != nil {
		return err
	}
	if a := &p.answers; a.resumed != nil {
		close(a.resumed)
		a.resumed = nil
	}
	return nil
}

// EndWatches implements faults.Surface.
func (c *Cluster) EndWatches(program, watches string) (ended int, err error) {
	p, err := c.program(program)
	if err != nil {
		return 0, err
	}
	for _, w := range slices.Clone(p.answers.watches) {
		if faults.Selects(watches, w.resource) {
			ended++
			w.timedOut = true
			go w.Close() // blocks if the program is partitioned, which must not delay other faults
		}
	}
	return ended, nil
}

// FailRequests implements faults.Surface.
func (c *Cluster) FailRequests(program string, code int, oneIn int64) error {
	p, err := c.program(program)
	if err == nil {
		p.answers.code, p.answers.oneIn = code, oneIn
	}
	return err
}

// DelayRequests implements faults.Surface.
func (c *Cluster) DelayRequests(program, resources string, delay time.Duration) error {
	p, err := c.program(program)
	if err != nil {
		return err
	}
	if p.answers.slow != nil {
		close(p.answers.slow.over)
		p.answers.slow = nil
	}
	if delay > 0 {
		p.answers.slow = &slow{resources: resources, most: delay, over: make(chan struct{})}
	}
	return nil
}

// wait takes a part of the additional time of a request, unless its client gives up, and reports the error of that.
func (s *slow) wait(request *http.Request, part time.Duration) error {
	if part == 0 {
		return nil
	}
	select {
	case <-time.After(part):
	case <-s.over:
	case <-request.Context().Done():
		return request.Context().Err()
	}
	return nil
}

// disturb returns a transport through which faults alter answers.
func (c *Cluster) disturb(client string, next http.RoundTripper) http.RoundTripper {
	p, err := c.program(client)
	if err != nil {
		return next // not a program
	}
	return &disturbed{program: p, next: next}
}

// disturbed is the transport of a program.
type disturbed struct {
	program *program
	next    http.RoundTripper
}

// failedAfter is how long a server takes to answer a failed request.
const failedAfter = time.Millisecond

// RoundTrip implements http.RoundTripper.
func (d *disturbed) RoundTrip(request *http.Request) (*http.Response, error) {
	if code := d.program.answers.code; code != 0 && rand.Int64N(d.program.answers.oneIn) == 0 {
		time.Sleep(failedAfter)
		return failure(request, code)
	}
	asked, isResource, notParsed := importer.ParseURL(request.URL)
	var before, after time.Duration
	slow := d.program.answers.slow
	if slow != nil && (slow.resources == faults.AllResources || notParsed == nil && isResource && faults.Selects(slow.resources, asked.Resource)) {
		if before = rand.N(slow.most); rand.IntN(2) == 0 {
			before, after = 0, before
		}
	}
	if err := slow.wait(request, before); err != nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, err
	}
	response, err := d.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if err := slow.wait(request, after); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	if response.StatusCode != http.StatusOK || notParsed != nil || !isResource || !asked.Watch {
		return response, nil
	}
	w := &watch{ReadCloser: response.Body, program: d.program, resource: asked.Resource, closed: make(chan struct{})}
	sim.Aside(func() { d.program.answers.watches = append(d.program.answers.watches, w) })
	response.Body = w
	return response, nil
}

// WrappedRoundTripper lets client-go unwrap the transport.
func (d *disturbed) WrappedRoundTripper() http.RoundTripper { return d.next }

// failure is the answer of an API server that does not carry out a request.
func failure(request *http.Request, code int) (*http.Response, error) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
	header := http.Header{"Content-Type": {"application/json"}}
	var why *apierrors.StatusError
	switch code {
	case http.StatusUnauthorized:
		why = apierrors.NewUnauthorized("Unauthorized")
	case http.StatusTooManyRequests:
		why = apierrors.NewTooManyRequests("the server has received too many requests and has asked us to try again later", 1)
		header.Set("Retry-After", strconv.Itoa(int(why.ErrStatus.Details.RetryAfterSeconds)))
	case http.StatusServiceUnavailable:
		why = apierrors.NewServiceUnavailable("the server does not serve now")
	default:
		why = apierrors.NewInternalError(errors.New("an injected failure"))
	}
	body, err := json.Marshal(why.ErrStatus)
	return &http.Response{
		Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), StatusCode: code, Proto: "HTTP/2.0", ProtoMajor: 2,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: request,
	}, err
}

// watch is the body of a watch response, as a program reads it.
type watch struct {
	io.ReadCloser
	program  *program
	resource string
	closed   chan struct{}
	timedOut bool
}

// Read implements io.Reader.
func (w *watch) Read(into []byte) (int, error) {
	n, err := w.ReadCloser.Read(into)
	for a := &w.program.answers; a.lag != nil; {
		wait := a.lag.wait(w.resource, w.program.cluster.Now())
		if wait == 0 {
			break
		}
		select {
		case <-time.After(wait):
		case <-a.lag.over:
		case <-w.closed:
			return 0, io.EOF
		}
	}
	for a := &w.program.answers; a.resumed != nil && faults.Selects(a.stalled, w.resource); {
		select {
		case <-a.resumed:
		case <-w.closed:
			return 0, io.EOF
		}
	}
	if err != nil && w.timedOut {
		err = io.EOF
	}
	return n, err
}

// Close implements io.Closer.
func (w *watch) Close() error {
	sim.Aside(func() {
		a := &w.program.answers
		if i := slices.Index(a.watches, w); i >= 0 {
			a.watches = slices.Delete(a.watches, i, i+1)
			close(w.closed)
		}
	})
	return w.ReadCloser.Close()
}
