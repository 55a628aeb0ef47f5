// Package kubeapi answers one question: what does a request to the Kubernetes API,
// or an object of it, say in the terms of package model?
//
// It reads what travels, not what Go types make of it, and knows no resource type
// but by name. So it needs no package of Kubernetes, and reads custom resources as
// well as pods.
//
//   - request.go: paths and queries
//   - selector.go: label and field selectors, as far as package model has them
//   - object.go: objects, lists and tables in JSON, and the digests of contents
//   - protobuf.go: objects as etcd stores them
//   - status.go: failures
package kubeapi
