package traces

import _ "embed"

// Schema is the JSON Schema (draft 2020-12) of one line of a history. It holds
// what can be said of a line by itself; [Validate] says what has to be true of
// all lines together.
//
//go:embed schema/history.schema.json
var Schema string
