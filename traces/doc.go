// Package traces answers one question: what was recorded?
//
// It defines the files that a run leaves behind:
//
//   - history.jsonl holds a [model.History]: all that clients did and saw, and what
//     was true. history.go reads and writes it, encode.go is the hot path of writing.
//     shape.go finds missing fields, validate.go and its siblings find what nobody can
//     have recorded, and schema holds the JSON Schema of a line.
//   - The decision tape holds what the scheduler chose, so that the run can be
//     replayed: tape.go.
//   - Both may be compressed. files.go finds files under either form of their name and
//     reads them up to a limit, writer.go compresses.
//
// # The history file
//
// The file is JSON Lines. The first line is the [Header]:
//
//	{"format":"watchsim.history","version":3,"seed":7,"target":"kubernetes"}
//
// Every other line is a record: its kind, and its data in the JSON form of the
// type in package model.
//
//	{"kind":"change","data":{"rv":2,"object":{"namespace":"a","name":"x","value":"v1","uid":"u1","rv":2}}}
//	{"kind":"compaction","data":{"rv":2,"time":40}}
//	{"kind":"fault","data":{"name":"partition","begin":5,"end":6}}
//	{"kind":"operation","data":{"id":1,"client":"c1","server":"s1","kind":"create","call":10,"return":20, ...}}
//	{"kind":"stream","data":{"id":1,"client":"c1","server":"s1","call":30,"return":31,"rv":-1,"closed":-1, ...}}
//	{"kind":"event","data":{"stream":1,"time":32,"type":"ADDED","rv":2,"object":{ ... }}}
//	{"kind":"informer","data":{"client":"i1","server":"s1","scope":{},"objects":[ ... ],"lastSyncRV":2}}
//	{"kind":"census","data":{"time":55,"phase":"serving","server":"s1","revision":3,"streams":1,"watchers":1,"etcdWatches":1,"goroutines":40}}
//	{"kind":"leader","data":{"time":0,"member":"m1","term":2}}
//	{"kind":"window","data":{"time":25,"server":"s1","filling":1,"since":1,"newest":2}}
//	{"kind":"end","data":{"healed":50,"end":60,"revision":3,"records":10}}
//
// Times are nanoseconds of simulated time, resourceVersions are etcd revisions.
// -1 stands for a return or close that never came and for an RV that was not
// asked for. The events of a stream come after it, in the order in which they
// arrived. The end record is the last line and counts the records before it, so
// that a file that was cut short is noticed.
//
// docs/history-format.md says the same for people who write one.
//
// A reader ignores fields it does not know, so fields may be added; a change
// that an old reader would misunderstand takes a new version. Version 2 added the
// census records, version 3 those of leaders and windows; files of an older version
// are read as having none.
package traces
