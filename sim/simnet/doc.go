// Package simnet is the network of a simulation: listeners, connections and dialing in memory,
// between hosts that are names, over links that can delay, withhold, lose and reset. Programs use
// it through net.Listener and net.Conn and cannot distinguish it from TCP.
//
// [Network] holds everything. [Network.Listen] and [Network.DialContext] replace net.Listen and
// net.Dialer; the methods in fault.go are the possible faults.
//
// # Time and goroutines
//
// A network belongs to the testing/synctest bubble it was made in and uses that bubble's clock; it
// works with the real clock, too. It starts no goroutine: bytes are written straight into the
// receiver's queue, each segment with the instant at which it arrives, and a blocked Read waits for
// that instant itself. No goroutine of a crashed host is ever needed for the others to continue.
//
// # The lock
//
// One mutex guards the whole network. No call blocks, sends on a channel or runs foreign code while
// holding it, except for Config.Rand when a link is first used: wake-ups are collected and sent
// after unlocking. As long as a scheduler never stops a goroutine between Lock and Unlock, the lock
// is never contended, and no crash can find it held.
//
// # What is modelled of TCP, and what is not
//
// A stream delivers each byte once and in order, or its connection fails. Buffers are bounded, so
// readers exert backpressure. A partition delays, by TCP's own schedule of retransmissions.
// Closing, half-closing and resetting reach the peer as segments that travel like all others: a FIN
// waits behind a partition as data does.
//
// Not modelled: congestion control and slow start, acknowledgements (room in the buffer is free for
// the writer as soon as the reader has read, whatever the state of the reverse path), the kernel
// giving up on a connection after 15 minutes of retransmission, keep-alive probes, and simultaneous
// open.
package simnet
