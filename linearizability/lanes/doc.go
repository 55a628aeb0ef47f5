// Package lanes answers one question: how does what led to a violation look, side
// by side?
//
// It draws the moments of an [explain.Explainer]'s slice as text: time runs down
// the page, and etcd, the API server and the client have a lane each. The text is
// at most [explain.Columns] wide and has nothing but ASCII in it, so that it can be
// pasted into an issue.
//
//   - steps.go: the same moments as a numbered list
//   - lanes.go: the lanes, and faults as bands beside them
//   - table.go: columns of wrapped text
package lanes
