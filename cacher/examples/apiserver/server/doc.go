// Package server is the example API server as a library: tests start it in their own
// process, and the command does no more than read flags into its Options.
//
//   - watchcache.go: the line that decides which cache serves the lists and watches
//   - options.go: what can be set, by flags or by a test, and what a server without a
//     kube-apiserver leaves out
//   - server.go: from options to a server that runs until it is told to stop, and what it
//     knows about its types
//   - registry.go: how widgets are stored and what is refused
//   - openapi.go: how it describes them
//   - etcd.go: a member of etcd in the process, for development and tests
//   - command.go: the command
package server
