package simnet

import (
	"net"
	"net/netip"
	"os"
	"strings"
)

// Addr is the address of a TCP endpoint whose host is a name, where a real
// network would have resolved it to a net.TCPAddr.
type Addr string

// Network returns "tcp".
func (Addr) Network() string { return "tcp" }

// String returns the address as it was given to Listen or DialContext.
func (a Addr) String() string { return string(a) }

// makeAddr returns the net.Addr of an address, with a type of package net where possible.
func makeAddr(network, address string) net.Addr {
	if network == "unix" {
		return &net.UnixAddr{Name: address, Net: "unix"}
	}
	if literal, err := netip.ParseAddrPort(address); err == nil {
		return net.TCPAddrFromAddrPort(literal)
	}
	return Addr(address)
}

// canonical returns the name space of a network's addresses.
func canonical(network string) (string, bool) {
	switch network {
	case "tcp", "tcp4", "tcp6":
		return "tcp", true
	case "unix":
		return "unix", true
	}
	return "", false
}

// qualify puts the host's name before an address that is a mere port, since
// all hosts share one name space.
func qualify(h *host, network, address string) string {
	if network == "tcp" && strings.HasPrefix(address, ":") {
		return h.name + address
	}
	return address
}

// dialError is the error a failed dial returns.
func dialError(network, address string, err error) error {
	return &net.OpError{Op: "dial", Net: network, Addr: makeAddr(network, address), Err: err}
}

// listenError is the error a failed listen returns.
func listenError(network, address string, errno error) error {
	return &net.OpError{Op: "listen", Net: network, Addr: makeAddr(network, address), Err: os.NewSyscallError("bind", errno)}
}
