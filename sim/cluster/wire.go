package cluster

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
)

// A wire carries messages over a connection of the simulated network, so that
// they meet its latency, partitions, resets and full buffers. All processes
// share one address space: the message itself goes by way of a mailbox, and
// only its number and as many bytes as it would have taken go over the wire.
type wire struct {
	net.Conn
	mail *mailbox
}

// frameHeader is the number of the message and the number of bytes that follow.
const frameHeader = 12

// padding is what the bytes of a message look like.
var padding [64 << 10]byte

// send sends a message that takes about size bytes on the wire. It waits while
// the connection's buffers are full.
func (w *wire) send(message any, size int) error {
	size = min(size, len(padding))
	frame := make([]byte, frameHeader, frameHeader+size)
	binary.BigEndian.PutUint64(frame, w.mail.put(message))
	binary.BigEndian.PutUint32(frame[8:], uint32(size))
	_, err := w.Write(append(frame, padding[:size]...))
	return err
}

// receive waits for the next message.
func (w *wire) receive() (any, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(w.Conn, header[:]); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(header[8:]))
	if _, err := io.ReadFull(w.Conn, body); err != nil {
		return nil, err
	}
	return w.mail.take(binary.BigEndian.Uint64(header[:])), nil
}

// mailbox holds the messages that are under way. Those of broken connections
// stay until the run is over.
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
