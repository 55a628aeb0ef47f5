// Package observe answers one question: what do API servers show to a client that does
// nothing but look?
//
//   - observe.go: informers and probes of one resource, on one or several servers, all
//     of it recorded by package record
//
// It is the only package here that knows Kubernetes: it is made of client-go, so that
// what is recorded is what controllers get. Its tests run real API servers over a real
// etcd.
package observe
