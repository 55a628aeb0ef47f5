// Package httpserver is a complete API server of k8s.io/apiserver in the simulation: the generic
// server with its handlers, encodings and timeouts, over HTTP/2 and TLS, with a watch cache of
// choice for each resource.
//
// It serves the usual built-in resources and, by k8s.io/apiextensions-apiserver, custom resources. It
// leaves out what only kube-apiserver has: defaults and validation of built-in types beyond their
// metadata, admission, authentication, authorisation, and the aggregation of other API servers.
// Priority and fairness, and encryption at rest, are optional.
//
//   - server.go: an API server from its start to its stop, and the certificate of all.
//   - builtin.go: the built-in resources, and how they are stored.
//   - registry.go: what happens to an object before it is stored.
//   - custom.go: custom resources.
//   - fairness.go: priority and fairness.
//   - encryption.go: what is encrypted at rest, and how servers are configured.
//   - plugin.go: the KMS plugin beside each server.
//   - keys.go: the key management service behind the plugins.
package httpserver
