package recorder

import (
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cacher/examples/apiserver/server"
	"github.com/watchsim/watchsim/model"
)

// cuttable is a transport whose watches can be cut, as by a network. It is below the
// recorder, which sees what a client sees.
type cuttable struct {
	http.RoundTripper

	mu   sync.Mutex
	open []io.Closer
}

// RoundTrip implements http.RoundTripper.
func (c *cuttable) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(request)
	if err == nil && request.URL.Query().Get("watch") != "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open = append(c.open, response.Body)
	}
	return response, err
}

// cut ends the open watches, and returns their number.
func (c *cuttable) cut() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, body := range c.open {
		body.Close()
	}
	cut := len(c.open)
	c.open = nil
	return cut
}

// TestARecordingGoesOnAfterABreak cuts the watch of the recorder's informer. The next
// one is recorded as well, as a second stream.
func TestARecordingGoesOnAfterABreak(t *testing.T) {
	c := newCluster(t)
	a := c.start("a", server.Watchsim, c.etcd.Endpoint())
	w := newWriter(t, a)
	first := w.create("first")
	network := &cuttable{}
	a.Wrap(func(next http.RoundTripper) http.RoundTripper {
		network.RoundTripper = next
		return network
	})
	o, err := Start(t.Context(), Config{Servers: []Server{{"a", a}}, Resource: resource})
	require.NoError(t, err)
	streamed(t, o, "a", rv(t, first))
	before := rv(t, w.create("before"))
	streamed(t, o, "a", before)
	require.Equal(t, 1, network.cut())
	after := rv(t, w.create("after"))
	streamed(t, o, "a", after)
	c.record(o, after)

	v := c.verdict("all.jsonl", c.files)
	require.EqualValues(t, "passed", v.Outcome, "%s", v.Report())
	_, h, _, err := o.History()
	require.NoError(t, err)
	var came []int64
	streams := 0
	for _, s := range h.Streams {
		if s.Err != model.OK {
			continue // the server was busy
		}
		streams++
		require.NotEqual(t, model.Pending, s.Closed)
		for _, event := range s.Events {
			if event.Type == model.Added {
				came = append(came, event.RV)
			}
		}
	}
	require.GreaterOrEqual(t, streams, 2)
	require.Contains(t, came, before)
	require.Contains(t, came, after)
}
