package simtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/sim"
)

// restartDelay is how long a program that has returned stays down, as with the first
// CrashLoopBackOff of a kubelet.
const restartDelay = 10 * time.Second

// GracePeriod is how long a program may take to end when it is told to stop, before it is killed, as by a kubelet: the default of a pod's
// terminationGracePeriodSeconds.
const GracePeriod = 30 * time.Second

// Ending is how a life of a program ended, unless a fault or the test killed it.
type Ending struct {
	Program string
	// How says how, such as "has exited with code 1".
	How string
	// Told is when it was told to stop, 0 if nobody told it, and At when it ended, both from the beginning of the run.
	Told, At time.Duration
	// Killed means that it had not ended within [GracePeriod] after it was told.
	Killed bool
}

// program is a program under test, through all its lives.
type program struct {
	cluster *Cluster
	name    string
	number  int // decides which server it connects to first
	run     func(context.Context, *rest.Config) error
	process *sim.Process  // nil while it is down
	stop    func()        // of the current life
	stopped bool          // whether that was told to stop, so that its end is no reason to start another one
	told    time.Duration // when
	answers answers
}

// start begins a life of the program.
func (p *program) start() error {
	if p.process != nil {
		return fmt.Errorf("start %s: it is up", p.name)
	}
	process := p.cluster.world.Process(p.name)
	ctx, stop := context.WithCancel(p.cluster.ctx)
	p.process, p.stop, p.stopped, p.told = process, stop, false, 0
	config := p.cluster.config(p.name, p.cluster.balanced(p.number+p.cluster.lives[p.name]))
	process.Go(func() {
		err := p.run(ctx, config)
		if p.cluster.ctx.Err() == nil {
			p.ends(process, fmt.Sprintf("has returned %v", err))
		}
	})
	return nil
}

// tellToStop ends the context of the program's current life. When its function returns, the process ends. If it does not within the grace period, it is killed.
func (p *program) tellToStop() error {
	process := p.process
	if process == nil {
		return fmt.Errorf("stop %s: it is down", p.name)
	}
	p.stopped, p.told = true, p.cluster.Now()
	process.Go(p.stop) // a process receives signals itself: what they start belongs to it
	time.AfterFunc(GracePeriod, func() {
		if p.process == process && p.cluster.ctx.Err() == nil {
			p.note(fmt.Sprintf("has not ended within %v, and is killed", GracePeriod), true)
			_ = p.crash()
		}
	})
	return nil
}

// note records how a life has ended. At the end of the test, all do.
func (p *program) note(how string, killed bool) {
	if p.cluster.ctx.Err() != nil {
		return
	}
	p.cluster.endings = append(p.cluster.endings, Ending{Program: p.name, How: how, Told: p.told, At: p.cluster.Now(), Killed: killed})
}

// ends is called when a life of the program has ended by itself, to kill what is left of its process.
func (p *program) ends(process *sim.Process, how string) {
	what := fmt.Sprintf("before the end of the test, and is started again in %v", restartDelay)
	if p.stopped {
		what = "as it was told to stop"
	}
	p.cluster.logf("%s %s, %s", p.name, how, what)
	p.note(how, false)
	p.cluster.ended <- life{p, process}
}

// life is a life of a program.
type life struct {
	*program
	process *sim.Process
}

// crash ends the program at once. Crashes may wait for the same process, and the first that is over may be followed by the next life before the others
// return.
func (p *program) crash() error {
	process := p.process
	if process == nil {
		return fmt.Errorf("crash %s: it is down", p.name)
	}
	process.Crash()
	if p.process == process {
		p.process, p.answers.watches = nil, nil
	}
	return nil
}

// onExit is called when a process calls os.Exit. A program is restarted. Any other exit ends the run, and
// the report says where it was.
func (c *Cluster) onExit(process *sim.Process, code int) bool {
	for _, p := range c.programs {
		if p.process == process {
			p.ends(process, fmt.Sprintf("has exited with code %d", code))
			return true
		}
	}
	fmt.Fprintf(os.Stderr, "%s called os.Exit(%d):\n%s", process.Name(), code, debug.Stack())
	return false
}

// restartEnded restarts programs that have returned, except those that were told to stop.
func (c *Cluster) restartEnded() {
	for one := range c.ended {
		if one.program.process != one.process || one.crash() != nil || one.stopped {
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

// balanced returns the API servers in the order in which a client's connections reach them.
func (c *Cluster) balanced(first int) []string {
	servers := c.booted.Servers()
	first %= len(servers)
	return slices.Concat(servers[first:], servers[:first])
}

// dialInTurn connects as through a load balancer: each connection goes to the next server that
// accepts it, which may lag behind the others; the first goes to the server with that number.
func dialInTurn(servers []string, first int) func(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	var connections atomic.Int64
	connections.Store(int64(first))
	return func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		for range servers {
			next := servers[int(connections.Add(1)-1)%len(servers)]
			if conn, err = dialer.DialContext(ctx, network, net.JoinHostPort(next, port)); !errors.Is(err, syscall.ECONNREFUSED) {
				break
			}
		}
		return conn, err
	}
}

// config is the configuration with which a client reaches API servers. Each life has its own
// connections, which client-go caches for the whole process.
func (c *Cluster) config(client string, servers []string) *rest.Config {
	c.lives[client]++
	session := c.session(client)
	authority, name := c.booted.Authority()
	return &rest.Config{
		Host: c.booted.URL(servers[0]), TLSClientConfig: rest.TLSClientConfig{CAData: authority, ServerName: name},
		QPS: 1000, Burst: 2000, UserAgent: client, Dial: dialInTurn(servers, 0),
		WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			if client == setupClient {
				return next
			}
			return c.recorded.wrap(servers[0], client, session, c.disturb(client, next))
		},
	}
}

// session names the latest life of a client.
func (c *Cluster) session(client string) string {
	if life := c.lives[client]; life > 1 {
		return fmt.Sprintf("%s (life %d)", client, life)
	}
	return client
}
