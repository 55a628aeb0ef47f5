// Package traces answers one question: what was recorded?
//
// It defines the files that a run leaves behind:
//
//   - history.jsonl holds a [model.History]: all that clients did and saw, and what
//     was true, as JSON Lines. history.go reads and writes it, with the tags of package
//     model; required.go finds missing fields, validate.go and validate_requests.go
//     what nobody can have recorded.
//   - The decision tape holds what the scheduler chose, so that the run can be
//     replayed: tape.go.
//   - Both may be compressed. files.go finds files under either form of their name and
//     reads them up to a limit, and compresses.
//
// The format has two descriptions: schema/history.schema.json, the JSON Schema of a
// line, with a sentence on each field, and docs/history-format.md, for people who write
// a history. Tests keep both in step with the tags.
//
// Everything that a stranger may have named passes through printable.go before it is
// printed.
//
// A reader ignores fields it does not know, so fields may be added; a change
// that an old reader would misunderstand takes a new version. Version 2 added the
// census records, version 3 those of leaders and windows, version 4 the labels that a
// touch sets; files of an older version are read as having none.
package traces
