// Package decisive answers one question: which decisions of the scheduler does a
// failure need, and what happened because of them?
//
// A decision matters if the guarantee holds once the plain choice is taken in its
// place: the run is made again for each, with a tape that is changed there alone.
// That tells something of a run that package shrink has made smaller, whose tape
// has few choices left. In a whole run any change makes everything after it another
// run.
//
//   - tape.go: the choices on a tape
//   - find.go: running candidates
//   - interleaving.go: what went on while a goroutine was held up
//   - render.go: the text for people
package decisive
