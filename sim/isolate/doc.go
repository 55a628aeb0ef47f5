// Package isolate helps tests that simulate.
//
// A process simulates only once, so each simulation of a test runs in a copy of the test's process
// (package fork). Effects in a copy stay there: assignments to variables are lost, and results come
// back as JSON.
//
//   - [Run] and [Value] run one simulation in a copy, and return how it ended and its result; the
//     test's assertions may be in a Run. [Try] is Run for a simulation that need not complete.
//   - [Isolated] and [Answer] run any function in a copy, with the test's assertions in it; it may
//     simulate with [InPlace], and share variables with what it simulates.
//
// A copy that dies, by a panic or a signal, fails the test with the reason and its output;
// the test's process and later tests are not affected.
//
// Every copy begins with the current memory of the test's process. Two runs of one seed are
// equal only if they begin with equal memory: the second one sees what the test has
// initialised in between. This package itself leaves no such state.
//
// Tests that simulate must not be parallel, because the copy would continue the others, too.
//
// Without the toolchain overlay such tests fail with [sim.ErrNoOverlay]. The race detector
// needs threads that Go did not start, so a process with it cannot be copied: each test
// then runs in a fresh process, its first simulation in place, and is skipped where it
// would start another one.
//
//   - run.go: simulating.
//   - isolated.go: running something in a copy.
//   - inside.go: the test as the copy sees it.
//   - alone.go: running a test in a process of its own.
package isolate
