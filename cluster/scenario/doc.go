// Package scenario executes one run from beginning to end: it draws a plan of faults,
// builds the cluster in a world, starts the clients, reads what was committed from
// etcd's logs, and judges the history.
//
//   - spec.go: everything that a run is a function of.
//   - catalogue.go: named settings for specs.
//   - knob.go: the dimensions in which runs differ, how a seed draws them and a user sets them.
//   - knobs.go: the list of them.
//   - scripted.go: the scenarios that are small enough to be explored.
//   - explore.go: how a search steers a run.
//   - template.go: the booted cluster in which runs start.
//   - branch.go: points at which a run continues differently, and its state there.
//   - run.go: the run itself.
//   - log.go: etcd's logs, kept out of the run.
//   - judge.go: the verdict of the run and the oracle.
//   - stuck.go: distinguishing a deadlock of the code under test from one of the harness.
//   - folder.go: the artifacts of a run, and how to read them back.
//   - files.go: writing the files of a folder together, and reading them, compressed or not; the
//     timeline of a failed run.
//   - build.go: what a binary was built from.
package scenario
