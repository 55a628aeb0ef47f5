// Package cluster answers one question: how does what was seen of a real cluster
// become a history?
//
// Sources, such as audit logs, the output of kubectl and etcdctl, and the recorder,
// add what they hold to one [Recording]. [Recording.History] puts it together: one
// clock, one set of IDs, and the truth that the oracle judges by.
//
//   - recording.go: what sources add, and the limits
//   - history.go: the history that it makes
//   - operations.go: which operations the truth is enough for
//   - objects.go: objects as the history has them
//   - truth.go: what etcd committed, as far as anybody saw it
//   - infer.go: what must have happened although nobody saw it
//   - contents.go: what each version of an object held
//
// # The truth
//
// Where the output of etcd covers a range of revisions, that is the truth there,
// and everything else is judged by it. Elsewhere the truth is the union of what all
// sources saw: an object in a list, an event, the response to a write. What nobody
// saw is in no truth, and nobody is accused of lacking it. What somebody saw was
// there, and who should have shown it too and did not is at fault. When two sources
// contradict each other, one of them is wrong, and the oracle names the one that the
// other outvotes; it cannot know which of the two is.
//
// An event MODIFIED of an object that no source had seen before, or an object that
// is gone from a list, tells of a change that nobody saw. Such a change is added,
// without a content, at a revision where it contradicts nobody, if there is one.
package cluster
