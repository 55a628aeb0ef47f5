// Package decisive answers one question: which decisions of the scheduler does a
// failure need, and what happened because of them?
//
// In a run with many choices nearly each of them changes all that comes after it, so
// that to take another one says nothing. What is well-defined is the last choice that
// a failure needs: with nothing but plain choices after it the guarantee is broken,
// and with a plain one in its place, too, it holds. Package decisive looks for that
// one from the violation backwards, halving the distance. If it is how long a goroutine
// is held up, the shortest time that is enough tells what had to happen meanwhile, and
// which calls stood in the middle of something all that time.
//
// In a run with few choices, as package shrink leaves them, each is tried by itself
// as well.
//
//   - tape.go: the choices on a tape
//   - find.go: running candidates
//   - interleaving.go: what went on while a goroutine was held up
//   - underway.go: the calls that stood in the middle of something then
//   - calls.go: which functions are told of, and how they are named
//   - render.go: the text for people
package decisive
