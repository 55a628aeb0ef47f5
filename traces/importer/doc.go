// Package importer answers one question: which files make one history, and what is in
// each?
//
//   - importer.go: the arguments of `simrun import`, and the sources in the order in
//     which they have to be read
//
// The formats have packages of their own: audit, kubectl and etcdctl. Package cluster
// puts together what they hold.
package importer
