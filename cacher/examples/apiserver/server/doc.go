// Package server is the example API server as a library: tests start it in their own process, and
// the command only reads flags into its Options.
//
//   - watchcache.go: the line that chooses which cache serves lists and watches
//   - options.go: what flags or a test can set, and what a server without a kube-apiserver leaves
//     out
//   - server.go: from options to a server that runs until it is stopped, and its types
//   - registry.go: how widgets are stored and validated
//   - openapi.go: their OpenAPI definitions
//   - etcd.go: an etcd member in the process, for development and tests
//   - command.go: the command
package server
