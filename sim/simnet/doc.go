// Package simnet is the network of a simulation: listeners, connections and
// dialing in memory, between hosts that are names, over links that delay,
// stop, lose and reset as they are told. Programs meet it as net.Listener and
// net.Conn and cannot tell it from TCP.
//
// [Network] holds everything. [Network.Listen] and [Network.DialContext] stand
// for net.Listen and net.Dialer; the methods in fault.go are what can go wrong.
//
// # Time and goroutines
//
// A network belongs to the testing/synctest bubble it was made in and lives by
// that bubble's clock; it works with the real clock just as well. It starts no
// goroutine: bytes are written straight into the receiver's queue, each segment
// with the instant at which it arrives, and a blocked Read waits for that
// instant itself. Nothing that a crashed host left behind must ever run for
// the others to go on.
//
// # The lock
//
// One mutex guards the whole network. No call blocks, sends on a channel or
// runs foreign code with it held, but for Config.Rand when a link is first
// used: wake-ups are collected and sent after unlocking. As long as a scheduler
// never stops a goroutine between Lock and Unlock, the lock is never contended,
// and no crash can find it held.
//
// # What is TCP here, and what is not
//
// A stream delivers each byte once and in order, or its connection fails.
// Buffers are bounded, so writers feel their readers. A partition delays, by
// TCP's own schedule of retransmissions. Closing, half-closing and resetting
// are told to the peer by segments that travel like all others: a FIN waits
// behind a partition as data does.
//
// Not modelled: congestion control and slow start, acknowledgements (room in
// the buffer is free for the writer as soon as the reader has read, whatever
// the state of the way back), the kernel's giving up on a connection after
// 15 minutes of retransmission, keep-alive probes, and simultaneous open.
package simnet
