package simnet

import (
	"cmp"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Config configures a network. The zero Config is a network without latency.
type Config struct {
	// Rand returns the random stream of the given name. It is called once for each link, as
	// "network/from>to", when the link is first used, so that links do not affect each other's
	// draws. It runs with the network's lock held: it must not block, nor call the network. If nil,
	// the streams depend only on their names.
	Rand func(name string) *rand.Rand

	// Default are the initial properties of every link, except of those from a host to itself: a
	// loopback has neither latency nor a bandwidth limit unless [Network.SetLatency] or
	// [Network.SetBandwidth] sets one.
	Default Link

	// RetransmitMax bounds the time between two retransmissions, and with it the delay of
	// withheld data after healing. If 0, it is 120 s as in Linux.
	RetransmitMax time.Duration

	// Patience is how long a Read or a Write may wait at either end of a connection to an address
	// before it fails with os.ErrDeadlineExceeded, as with a deadline that a program sets before
	// each call; 0 is forever. It is for programs that set deadlines over TCP, but not on the unix
	// networks that they use here. If nil, there are no such deadlines.
	Patience func(address string) time.Duration
}

// Network is a set of hosts and the links between them. Hosts and links are created when
// they are first named. Every method may be called at any time and from any goroutine of
// the bubble in which the network was made.
type Network struct {
	config   Config
	epoch    time.Time // instants are nanoseconds since then
	observer func()    // see Observe

	mu        sync.Mutex // guards everything below, and all that hangs on it
	hosts     map[string]*host
	links     map[direction]*link
	linkOrder []*link               // links, in order of creation
	endpoints map[endpoint]*service // every address anybody ever listened on
	conns     []*Conn               // the dialing ends of live connections, in order of creation
	stats     Stats
}

// host is the network's state of a machine.
type host struct {
	name      string
	lastPort  int // of the ports given out, see assignPort
	refusing  bool
	frozen    bool          // see Freeze
	delay     time.Duration // of what it sends and receives, see SlowHost
	listeners []*Listener   // in order of creation
}

// direction names a link.
type direction struct{ from, to *host }

// endpoint is an address one can dial. Each network is a name space of its own.
type endpoint struct{ network, address string }

// service is an endpoint that has or had a listener. It outlives the listener, so that a
// dial to a host that is down still takes the latency to that host.
type service struct {
	host     *host
	listener *Listener // nil if nobody listens any more
}

// Stats counts what happened on a network since it was made.
type Stats struct {
	Dials        int   // calls of DialContext
	Connections  int   // dials that succeeded
	Refused      int   // dials that failed with ECONNREFUSED
	TimedOut     int   // dials that gave up, by their context or by DialTimeout
	Resets       int   // connections reset by a fault or by a crash
	Sent         int64 // bytes that Write took
	SegmentsHeld int   // segments a partition delayed
	SegmentsLost int   // segments that went into a black hole
}

// New makes a network without hosts.
func New(config Config) *Network {
	if config.Rand == nil {
		config.Rand = randByName
	}
	config.RetransmitMax = cmp.Or(config.RetransmitMax, 120*time.Second)
	return &Network{
		config:    config,
		epoch:     time.Now(),
		hosts:     map[string]*host{},
		links:     map[direction]*link{},
		endpoints: map[endpoint]*service{},
	}
}

// Follow gives all links, including existing ones, the properties and random streams of another
// configuration.
func (n *Network) Follow(config Config) {
	n.mu.Lock()
	defer n.mu.Unlock()
	config.RetransmitMax = cmp.Or(config.RetransmitMax, n.config.RetransmitMax)
	n.config = config
	for _, l := range n.linkOrder {
		l.rand = config.Rand("network/" + l.from.name + ">" + l.to.name)
		if l.from != l.to {
			l.Link = config.Default
		}
	}
}

// Stats returns what has been counted so far.
func (n *Network) Stats() Stats {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stats
}

// Observe makes each Read and Write call f at its end, and must be called before the first Listen.
// f runs on the goroutine that reads or writes, which may hold locks other than the network's: f
// must not wait.
func (n *Network) Observe(f func()) { n.observer = f }

// now is the current instant.
func (n *Network) now() int64 { return int64(time.Since(n.epoch)) }

// hostLocked returns the host of that name.
func (n *Network) hostLocked(name string) *host {
	h := n.hosts[name]
	if h == nil {
		h = &host{name: name, lastPort: firstPort - 1}
		n.hosts[name] = h
	}
	return h
}

// linkLocked returns the link from one host to another.
func (n *Network) linkLocked(from, to *host) *link {
	l := n.links[direction{from, to}]
	if l == nil {
		l = &link{from: from, to: to, rand: n.config.Rand("network/" + from.name + ">" + to.name)}
		if from != to {
			l.Link = n.config.Default
		}
		n.links[direction{from, to}] = l
		n.linkOrder = append(n.linkOrder, l)
	}
	return l
}

// connectLocked makes a connection and returns its dialing and its accepting end.
func (n *Network) connectLocked(from, to *host, local, remote net.Addr) (dialing, accepting *Conn) {
	forth, back := newStream(n, n.linkLocked(from, to)), newStream(n, n.linkLocked(to, from))
	forth.reverse, back.reverse = back, forth
	dialing = &Conn{network: n, host: from, local: local, remote: remote, in: back, out: forth}
	accepting = &Conn{network: n, host: to, local: remote, remote: local, in: forth, out: back}
	dialing.peer, accepting.peer = accepting, dialing
	if n.config.Patience != nil {
		dialing.patience = n.config.Patience(remote.String())
		accepting.patience = dialing.patience
	}
	n.conns = append(n.conns, dialing)
	n.stats.Connections++
	return dialing, accepting
}

// forgetLocked drops a connection that neither end uses any more.
func (n *Network) forgetLocked(c *Conn) {
	if !c.closed || !c.peer.closed {
		return
	}
	n.conns = slices.DeleteFunc(n.conns, func(d *Conn) bool { return d == c || d == c.peer })
}

// firstPort is the first number that stands in for port 0 on each host.
const firstPort = 30000

// assignPort returns the host's next free number for ":0" and for the local address of a
// dial. Each host has its own counter, so that another connection of one host changes no
// address of another host.
func (h *host) assignPort() string {
	h.lastPort++
	return strconv.Itoa(h.lastPort)
}

func randByName(name string) *rand.Rand {
	hash := fnv.New64a()
	hash.Write([]byte(name))
	return rand.New(rand.NewPCG(hash.Sum64(), 0))
}
