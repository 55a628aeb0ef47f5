// Package etcdctl answers one question: what did etcd commit, by what
//
//	etcdctl get --prefix KEY -w json
//	etcdctl watch --prefix --rev REVISION KEY -w json
//
// printed? The first gives the state to begin with, the second all changes after it.
// Begin the watch at the revision after the one in the header of the get, and nothing
// is missing in between.
//
//   - read.go: the responses
//   - keys.go: which object a key is of
//
// Values are read as package kubeapi reads them: JSON in full, the protobuf of
// built-in types for its metadata, encrypted ones not at all.
package etcdctl
