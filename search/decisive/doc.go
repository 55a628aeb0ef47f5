// Package decisive answers one question: which decisions of the scheduler does a
// failure need, and what happened because of them?
//
// In a run with many deviations nearly each of them changes everything after it, so that replacing
// one says nothing. What is well-defined is the last deviation that a failure needs: with only
// default decisions after it the guarantee is broken, and with a default decision in its place it
// holds. Package decisive finds that one by bisection, backwards from the violation. If it is the
// length of a delay, the shortest sufficient one shows what had to happen during it, and which
// calls were in progress all that time.
//
// In a run with few deviations, as package shrink leaves them, each is also tried alone.
//
//   - tape.go: the choices on a tape
//   - find.go: running candidates
//   - interleaving.go: what others did while a goroutine was delayed
//   - underway.go: the calls that were in progress meanwhile
//   - calls.go: which functions are shown, and how they are named
//   - render.go: the text for people
package decisive
