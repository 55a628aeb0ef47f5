package simtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/sim"
)

// restartDelay is how long a program that has returned is down, as a kubelet's first
// CrashLoopBackOff is.
const restartDelay = 10 * time.Second

// program is a program under test, through all its lives.
type program struct {
	cluster *Cluster
	name    string
	number  int // programs begin at different servers
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
	config := p.cluster.config(p.name, servers[(p.number+p.cluster.lives[p.name])%len(servers)])
	process.Go(func() {
		ctx := p.cluster.ctx
		err := p.run(ctx, config)
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
	c.lives[client]++
	session := client
	if life := c.lives[client]; life > 1 {
		session += fmt.Sprintf(" (life %d)", life)
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &rest.Config{
		Host: c.booted.URL(server), TLSClientConfig: rest.TLSClientConfig{Insecure: true},
		QPS: 1000, Burst: 2000, UserAgent: client,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		},
		// What is recorded is read as JSON.
		ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"},
		WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			return c.recorded.wrap(server, client, session, next)
		},
	}
}
