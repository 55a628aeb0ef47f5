// Package simtest helps tests that simulate.
//
// A process simulates once, so that each simulation of a test runs in a copy of the test's
// process (package fork). What happens in a copy stays there: variables that it assigns
// are assigned in the copy alone, and what the test is to know of it comes back as JSON.
//
//   - [Run] and [Value] have one simulation run in a copy, and return how it ended and what
//     it found out. [Try] is Run for a simulation that need not complete.
//   - [Isolated] and [Answer] have any function run in a copy, with the test's assertions in
//     it; it may simulate with [InPlace], and share variables with what it simulates.
//
// A copy that dies, whether by a panic or by a signal, fails the test with how it ended and
// what it wrote; the test's process and the tests after it are none the worse.
//
// Every copy begins from the memory of the test's process as it is then. Two runs of one
// seed are alike if they begin alike: what the test initialises between them, the second
// finds initialised. This package itself leaves nothing of that kind.
//
// Tests that simulate must not be parallel, as the copy would go on with the others, too.
//
// Without the toolchain overlay such tests fail with [sim.ErrNoOverlay]. With the race
// detector, which needs threads that Go did not start, a process cannot be copied: each
// test then runs in a fresh process, the first simulation of it in place, and is skipped
// where it would begin another one.
//
//   - simtest.go: simulating.
//   - isolated.go: running something in a copy.
//   - inside.go: the test as the copy sees it.
//   - alone.go: running a test in a process of its own.
package simtest
