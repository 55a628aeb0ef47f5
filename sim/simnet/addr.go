package simnet

import (
	"net"
	"net/netip"
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

// qualify puts the host's name before an address that is only a port, and in place of the
// loopback's, since all hosts share one name space. A listener there is therefore also reached from
// elsewhere, like one at all of a machine's addresses.
func qualify(h *host, network, address string) string {
	if network != "tcp" {
		return address
	}
	switch name, port, err := net.SplitHostPort(address); {
	case err != nil:
		return address
	case name == "", name == "localhost", net.ParseIP(name).IsLoopback():
		return net.JoinHostPort(h.name, port)
	}
	return address
}

// asGiven returns a qualified address with the IP address that was requested, as programs expect.
func asGiven(given, qualified string) string {
	name, _, err := net.SplitHostPort(given)
	_, port, qualifiedErr := net.SplitHostPort(qualified)
	if err != nil || qualifiedErr != nil || net.ParseIP(name) == nil {
		return qualified
	}
	return net.JoinHostPort(name, port)
}
