// Package httpserver is a whole API server of k8s.io/apiserver in the simulation: the
// generic server with its handlers, encodings and timeouts, over HTTP/2 and TLS, with a
// watch cache of choice for each resource.
//
// It serves the usual built-in resources and, by k8s.io/apiextensions-apiserver, custom
// resources. What only kube-apiserver has is left out: defaults and validation of
// built-in types beyond their metadata, admission, authentication, authorisation, and the
// aggregation of other API servers. Priority and fairness, and encryption at rest, are there for those
// who ask for them.
//
//   - server.go: an API server from its start to its stop, and the certificate of all.
//   - builtin.go: which built-in resources there are, and how they are stored.
//   - registry.go: what happens to an object on its way into the store.
//   - custom.go: custom resources.
//   - fairness.go: priority and fairness.
//   - encryption.go: what is encrypted at rest, and how servers are told.
//   - plugin.go: the KMS plugin beside each server.
//   - keys.go: the key management service behind those.
package httpserver
