package cluster

import (
	"encoding/binary"
	"io"
	"sync"
	"time"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/simnet"
)

// A wire carries messages over a connection of the simulated network, so that they meet its
// latency, partitions, resets and full buffers. All processes share one address space: the
// message itself is passed through a mailbox, and only its number and as many bytes as it
// would take are sent over the wire.
//
// Each direction is used by one goroutine at a time.
type wire struct {
	*simnet.Conn
	mail *mailbox
}

// frameHeader is the number of the message and the number of bytes that follow.
const frameHeader = 12

// maxSize bounds a message's size on the wire.
const maxSize = 64 << 10

// send sends a message that takes about size bytes on the wire. It waits while
// the connection's buffers are full.
func (w *wire) send(message any, size int) error {
	size = min(size, maxSize)
	var header [frameHeader]byte
	binary.BigEndian.PutUint64(header[:], w.mail.put(message))
	binary.BigEndian.PutUint32(header[8:], uint32(size))
	_, err := w.WriteFilled(header[:], size)
	return err
}

// receive waits for the next message.
func (w *wire) receive() (any, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(w.Conn, header[:]); err != nil {
		return nil, err
	}
	for rest := int(binary.BigEndian.Uint32(header[8:])); rest > 0; {
		n, err := w.Discard(rest)
		if err != nil {
			return nil, err
		}
		rest -= n
	}
	return w.mail.take(binary.BigEndian.Uint64(header[:])), nil
}

// mailbox holds the messages in flight. Those of broken connections stay until the end of the run.
type mailbox struct {
	mu       sync.Mutex
	last     uint64
	messages map[uint64]any
}

func newMailbox() *mailbox { return &mailbox{messages: map[uint64]any{}} }

func (m *mailbox) put(message any) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	m.messages[m.last] = message
	return m.last
}

func (m *mailbox) take(number uint64) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	message := m.messages[number]
	delete(m.messages, number)
	return message
}

// maxRetransmit bounds the silence of a partition's connections after it has healed. Linux allows
// two minutes, which is longer than a run.
const maxRetransmit = 3 * time.Second

// Network configures the network of a world with a cluster in it.
func Network(latency simnet.Latency) simnet.Config {
	return simnet.Config{Default: simnet.Link{Latency: latency}, RetransmitMax: maxRetransmit, Patience: etcd.Patience}
}

// LatencyOf returns the latency of the network, drawn from a run's seed.
func LatencyOf(seed uint64) simnet.Latency {
	random := sim.Stream(seed, "latency")
	least := time.Duration(random.IntN(1000)) * time.Microsecond
	return simnet.Latency{
		Min: least, Max: 2 * least,
		TailProbability: []float64{0, 0.01, 0.05}[random.IntN(3)], Tail: 200 * time.Millisecond,
	}
}
