// Package values answers one question: where does each JSON value of a file begin
// and end?
//
// What Kubernetes tools write is JSON, but some of them write a value a line and
// others spread it over many, and a file may be cut off anywhere. A [Reader] takes
// all of that, one object at a time, holds no more than one of them in memory and
// knows the line and byte of everything it complains of.
//
//   - reader.go: objects of a file, with their positions
//   - splitter.go: where an object ends, for bytes that arrive in pieces
package values
