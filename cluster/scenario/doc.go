// Package scenario is one run from beginning to end: it draws a plan of faults,
// builds the cluster in a world, lets the clients loose on it, reads the truth
// from etcd's logs, and has the history judged.
//
//   - spec.go: what a run is a function of.
//   - catalogue.go: named settings for specs.
//   - scripted.go: those of them that are small enough to be explored.
//   - explore.go: how a search steers a run.
//   - template.go: where runs begin: a cluster that has booted.
//   - branch.go: where a run goes on in another way, and what state it is in there.
//   - run.go: the run itself.
//   - log.go: what etcd logs, kept out of the run.
//   - judge.go: what the run and the oracle say together.
//   - timeline.go: a run that failed as a page.
//   - folder.go: the artifacts of a run, and how to read them back.
//   - files.go: writing files together, and reading them, compressed or not.
//   - build.go: what a binary was built from.
package scenario
