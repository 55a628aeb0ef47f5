// Package traces answers one question: what was recorded?
//
// It defines the files that a run leaves behind:
//
//   - history.jsonl contains a [model.History]: all that clients did and saw, and the
//     ground truth, as JSON Lines. history.go reads and writes it, with the tags of
//     package model; required.go finds missing fields, validate.go and
//     validate_requests.go what cannot have been recorded.
//   - The decision tape contains the choices of the scheduler, so that the run can be
//     replayed: tape.go.
//   - Both may be compressed. files.go finds files with or without the ending of a
//     compressed file, reads them up to a limit, and compresses.
//
// The format has two descriptions: schema/history.schema.json, the JSON Schema of a
// line, with a sentence on each field, and docs/history-format.md, for those who write
// a history. Tests keep both in sync with the tags.
//
// Untrusted names pass through printable.go before they are printed.
//
// A reader ignores unknown fields, so fields may be added; a change that an old reader
// would misinterpret requires a new version. Version 2 added the census records,
// version 3 those of leaders and windows, version 4 the labels that a touch sets;
// files of an older version are read as having none.
package traces
