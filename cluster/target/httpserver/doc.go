// Package httpserver is a whole API server of k8s.io/apiserver in the simulation: the
// generic server with its handlers, encodings and timeouts, over HTTP/2 and TLS, with a
// watch cache of choice for each resource.
//
// It serves the usual built-in resources and, by k8s.io/apiextensions-apiserver, custom
// resources. What only kube-apiserver has is left out: defaults and validation of
// built-in types beyond their metadata, admission, authentication, authorisation, and the
// aggregation of other API servers. Priority and fairness is there for those who ask for it.
//
//   - server.go: an API server from its start to its stop, and the certificate of all.
//   - builtin.go: which built-in resources there are, and how they are stored.
//   - registry.go: what happens to an object on its way into the store.
//   - custom.go: custom resources.
//   - fairness.go: priority and fairness.
package httpserver
