// Finding 51: a leader that has failed to renew its lease releases it, whoever holds it by then. If that is a successor, another candidate can acquire the lease at
// once, and the successor goes on until its renew deadline: two leaders act.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	space, rounds, control = "kube-system", 10, "no request"

	// The durations that kube-scheduler has by default.
	lease, deadline, retry = 15 * time.Second, 10 * time.Second, 2 * time.Second
)

var config *rest.Config

func main() {
	config, _ = api.Start(space)
	delayed := []string{control, "GET", "GET and PUT"}
	all := make([]*round, rounds*len(delayed))
	var running sync.WaitGroup
	for i := range all {
		all[i] = &round{name: fmt.Sprint("lease-", i), delayed: delayed[i/rounds], leads: map[string]*span{}}
		running.Go(all[i].run)
	}
	running.Wait()
	shown := 0
	for i, request := range delayed {
		stolen, both, longest := 0, 0, all[i*rounds]
		for _, r := range all[i*rounds : (i+1)*rounds] {
			if r.stolen {
				stolen++
			}
			if r.both > 0 {
				both++
			}
			if r.both > longest.both {
				longest = r
			}
		}
		fmt.Printf("%s delayed: a releases the lease of its successor in %d of %d rounds; in %d, b and c lead at once, for up to %.1fs; leaders: %s\n",
			request, stolen, rounds, both, longest.both.Seconds(), longest.story)
		if shown += both; request == control && stolen+both > 0 {
			rig.Must(errors.New("the control shows the bug"))
		}
	}
	rig.Verdict(shown, rounds*(len(delayed)-1), "a leader releases the lease of its successor, and two candidates lead at once,")
}

// round has three candidates for one lease: a, b and c.
type round struct {
	name, delayed string
	failing       atomic.Bool // the renewals of a fail
	requests      int         // of a, since then
	succeeded     atomic.Bool // b or c has acquired the lease
	stolen        bool        // a has released the lease of b or c
	both          time.Duration
	story         string

	mu    sync.Mutex
	leads map[string]*span
}

// span is when a candidate leads: from OnStartedLeading to OnStoppedLeading, or to the end of the round.
type span struct{ from, to time.Time }

func (r *round) run() {
	go r.candidate("a")
	rig.Until(func() bool { r.mu.Lock(); defer r.mu.Unlock(); return len(r.leads) == 1 })
	go r.candidate("b")
	go r.candidate("c")
	time.Sleep(3 * retry) // both have observed that a leads
	began := time.Now()
	r.failing.Store(true)
	time.Sleep(lease + 2*deadline + 3*retry)
	r.mu.Lock()
	defer r.mu.Unlock()
	text := []string{}
	for _, name := range []string{"a", "b", "c"} {
		if s := r.leads[name]; s != nil {
			if s.to.IsZero() {
				s.to = time.Now()
			}
			text = append(text, fmt.Sprintf("%s from %.1fs to %.1fs", name, s.from.Sub(began).Seconds(), s.to.Sub(began).Seconds()))
		}
	}
	r.story = strings.Join(text, ", ")
	if b, c := r.leads["b"], r.leads["c"]; b != nil && c != nil {
		if b.from.After(c.from) {
			b, c = c, b
		}
		r.both = max(0, b.to.Sub(c.from))
	}
}

// candidate runs a LeaderElector with the client and the configuration that kube-scheduler has.
func (r *round) candidate(name string) {
	config := rest.CopyConfig(config)
	if name == "a" {
		config.Wrap(rig.Wrap(r.send))
	}
	lock := rig.Value(resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, space, r.name, resourcelock.ResourceLockConfig{Identity: name}, config, deadline))
	elector := rig.Value(leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: lease, RenewDeadline: deadline, RetryPeriod: retry, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.leads[name] = &span{from: time.Now()}
				r.succeeded.Store(name != "a")
			},
			OnStoppedLeading: func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.leads[name].to = time.Now()
			},
		},
	}))
	elector.Run(context.Background())
}

// send sends a request of a. Once a is to fail, its renewal, a write and a read, is not sent. What follows is the release, some of whose requests are delayed until
// there is a successor, but not until they time out after 5s.
func (r *round) send(inner http.RoundTripper, request *http.Request) (*http.Response, error) {
	if !r.failing.Load() {
		return inner.RoundTrip(request)
	}
	if r.requests++; r.requests <= 2 {
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	late := r.succeeded.Load()
	if !late && strings.Contains(r.delayed, request.Method) {
		_, late = rig.Wait(time.Millisecond, deadline*2/5, r.succeeded.Load)
		time.Sleep(retry / 5) // a successor renews its lease at once, and then every 2s
	}
	response, err := inner.RoundTrip(request)
	r.stolen = r.stolen || late && request.Method == http.MethodPut && err == nil && response.StatusCode == http.StatusOK
	return response, err
}
