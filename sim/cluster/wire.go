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
//
// Each direction is used by one goroutine at a time.
type wire struct {
	net.Conn
	mail *mailbox
	sent []byte // the last frame that was sent, for the next one
}

// frameHeader is the number of the message and the number of bytes that follow.
const frameHeader = 12

// sizeMost bounds what a message takes on the wire.
const sizeMost = 64 << 10

// send sends a message that takes about size bytes on the wire. It waits while
// the connection's buffers are full.
func (w *wire) send(message any, size int) error {
	size = frameHeader + min(size, sizeMost)
	if len(w.sent) < size {
		w.sent = make([]byte, size)
	}
	frame := w.sent[:size]
	binary.BigEndian.PutUint64(frame, w.mail.put(message))
	binary.BigEndian.PutUint32(frame[8:], uint32(size-frameHeader))
	_, err := w.Write(frame)
	return err
}

// receive waits for the next message.
func (w *wire) receive() (any, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(w.Conn, header[:]); err != nil {
		return nil, err
	}
	var skipped [4 << 10]byte
	for rest := int(binary.BigEndian.Uint32(header[8:])); rest > 0; {
		n, err := w.Conn.Read(skipped[:min(rest, len(skipped))])
		if err != nil {
			return nil, err
		}
		rest -= n
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
