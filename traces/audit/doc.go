// Package audit answers one question: what does the audit log of an API server tell
// of reads and writes?
//
//   - read.go: the log, line by line
//   - operation.go: one request of it
//
// # What a log cannot tell
//
// What an entry holds depends on the level that the audit policy gives it.
//
//   - RequestResponse: what was asked and answered. Lists, gets and writes can be
//     judged.
//   - Request, Metadata: who asked for what and when, and whether it succeeded; not
//     which resourceVersion was read or written. Nothing can be judged. The entry is
//     counted and left out.
//
// No level records the events of a watch. For those, use the recorder or kubectl.
//
// The times are those of the API server: when it received the request, and when it
// had written the answer. That is a shorter time than the client waited, and it is
// within that time that the request was carried out. Several API servers have
// several clocks. The log does not say which server wrote it.
package audit
