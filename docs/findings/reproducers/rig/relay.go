package rig

import (
	"io"
	"net"
	"sync"
)

// Relay forwards TCP connections to a server.
type Relay struct {
	// Address is the host and port at which clients connect.
	Address string

	mu     sync.Mutex
	server string
	down   bool
	held   sync.Mutex // locked while responses are held
	conns  []net.Conn
}

// NewRelay listens at a free port of loopback.
func NewRelay(server string) *Relay {
	listener := Value(net.Listen("tcp", "127.0.0.1:0"))
	r := &Relay{Address: listener.Addr().String(), server: server}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go r.forward(conn)
		}
	}()
	return r
}

func (r *Relay) forward(client net.Conn) {
	r.mu.Lock()
	address := r.server
	r.mu.Unlock()
	server, err := net.Dial("tcp", address)
	if err != nil {
		_ = client.Close()
		return
	}
	r.mu.Lock()
	if r.down || r.server != address {
		_, _ = client.Close(), server.Close()
		r.mu.Unlock()
		return
	}
	r.conns = append(r.conns, client, server)
	r.mu.Unlock()
	pipe := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(to, from)
		_, _ = client.Close(), server.Close()
	}
	go pipe(gate{client, &r.held}, server)
	pipe(server, client)
}

// gate blocks writes while its lock is held.
type gate struct {
	to     io.Writer
	closed *sync.Mutex
}

func (g gate) Write(p []byte) (int, error) {
	g.closed.Lock()
	defer g.closed.Unlock()
	return g.to.Write(p)
}

// Hold holds back what the server sends until Release.
func (r *Relay) Hold() { r.held.Lock() }

// Release ends Hold.
func (r *Relay) Release() { r.held.Unlock() }

// Cut closes all connections. Clients may connect again at once.
func (r *Relay) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range r.conns {
		_ = conn.Close()
	}
	r.conns = nil
}

// Down closes all connections and refuses new ones until Up.
func (r *Relay) Down() {
	r.mu.Lock()
	r.down = true
	r.mu.Unlock()
	r.Cut()
}

// Up accepts connections again.
func (r *Relay) Up() { r.UpTo(r.server) }

// UpTo is like Up, and forwards connections to another server from then on.
func (r *Relay) UpTo(server string) {
	r.mu.Lock()
	r.server, r.down = server, false
	r.mu.Unlock()
}
