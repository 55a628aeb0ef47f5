// Package kubectl answers one question: what does the output of
//
//	kubectl get RESOURCE --watch --output-watch-events -o json
//
// tell of a watch?
//
//   - read.go: the events, one after the other
//
// # What it cannot tell
//
// kubectl lists, prints what it got as ADDED events, and then watches from there. The
// output does not say which resourceVersion the list had, nor when anything came, nor
// from which server. A watch without times can show that events were lost, doubled,
// disordered or wrong; it cannot show that they came late.
package kubectl
