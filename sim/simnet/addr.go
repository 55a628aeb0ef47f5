package simnet

import (
	"net"
	"net/netip"
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
