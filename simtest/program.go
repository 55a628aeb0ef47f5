package simtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/cluster/target/httpserver"
	"github.com/watchsim/watchsim/sim"
)

// restartDelay is how long a program that has returned is down, as a kubelet's first
// CrashLoopBackOff is.
const restartDelay = 10 * time.Second

// program is a program under test, through all its lives.
type program struct {
	cluster *Cluster
	name    string
	lives   int // counts from its number, so that programs begin at different servers
	run     func(context.Context, *rest.Config) error
	process *sim.Process // nil while it is down
}

// start begins a life of the program.
func (p *program) start() error {
	if p.process != nil {
		return fmt.Errorf("start %s: it is up", p.name)
	}
	process := p.cluster.world.Process(p.name)
	p.process = process
	// As behind a load balancer, each life may find another API server, which may be behind.
	servers := p.cluster.booted.Servers()
	server := servers[p.lives%len(servers)].Name()
	p.lives++
	process.Go(func() {
		ctx := p.cluster.ctx
		err := p.run(ctx, p.cluster.config(p.name, server))
		if ctx.Err() != nil {
			return
		}
		p.cluster.logf("%s has ended (%v) and is started again in %v", p.name, err, restartDelay)
		p.cluster.ended <- life{p, process}
	})
	return nil
}

// life is a life of a program.
type life struct {
	*program
	process *sim.Process
}

// crash ends the program at once.
func (p *program) crash() error {
	if p.process == nil {
		return fmt.Errorf("crash %s: it is down", p.name)
	}
	p.process.Crash()
	p.process = nil
	return nil
}

// restartEnded starts programs again that have returned.
func (c *Cluster) restartEnded() {
	for one := range c.ended {
		if one.program.process != one.process {
			continue
		}
		if one.crash() != nil {
			continue
		}
		go func() {
			time.Sleep(restartDelay)
			if one.program.process == nil && c.ctx.Err() == nil {
				_ = one.start()
			}
		}()
	}
}

// config is what a client uses to reach an API server. Each life has connections of its own,
// which client-go keeps for the whole process.
func (c *Cluster) config(client, server string) *rest.Config {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &rest.Config{
		Host: httpserver.URL(server), TLSClientConfig: rest.TLSClientConfig{Insecure: true},
		QPS: 1000, Burst: 2000, UserAgent: client,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		},
		WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			return &recorder{next: next, client: client, into: c.requests, world: c.world, began: c.began}
		},
	}
}

// requests are those of all clients.
type requests struct{ lines []string }

// maxRequests bounds how many requests of a run are kept.
const maxRequests = 100_000

// recorder notes the requests of a client.
type recorder struct {
	next   http.RoundTripper
	client string
	into   *requests
	world  *sim.World
	began  time.Duration
}

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	called := r.world.Now() - r.began
	response, err := r.next.RoundTrip(request)
	sim.Aside(func() {
		if len(r.into.lines) == maxRequests {
			return
		}
		answer := fmt.Sprint(err)
		if err == nil {
			answer = response.Status
		}
		r.into.lines = append(r.into.lines, fmt.Sprintf("%v to %v: %s %s %s: %s", called.Round(time.Millisecond),
			(r.world.Now()-r.began).Round(time.Millisecond), r.client, request.Method, request.URL.RequestURI(), answer))
	})
	return response, err
}
