// Package released lists releases that can be run as they were shipped. Each lies in a
// folder below, a Go module of its own, so that its build holds the old code and the
// project's holds the new. simrun builds the command worker of that module, and has it
// do the runs; all else is the project's.
//
// It answers one question: which releases are there? docs/released-versions.md tells
// what runs of them show.
package released

import "path/filepath"

// Worker is the package of a release's module that does the runs.
const Worker = "./worker"

// Release is one release.
type Release struct {
	// Name is what --target calls it, and the name of its folder.
	Name string
	// Summary says what it is.
	Summary string
	// PlainLists reports whether it knows no streaming lists (sendInitialEvents): it refuses
	// such a watch, so that clients are not to ask for them.
	PlainLists bool
	// RareBookmarks reports whether it sends a watch one bookmark a minute at most, and one
	// before the watch's deadline, whatever is configured: a run has few or none.
	RareBookmarks bool
}

// releases are all there are, in a fixed order.
var releases = []Release{
	{
		Name: "kubernetes-0.26", Summary: "the etcd3 store and Cacher of Kubernetes 0.26.15, as released",
		PlainLists: true, RareBookmarks: true,
	},
	{
		Name: "etcd-3.5", Summary: "the server and client of etcd 3.5.12, as released, below Kubernetes 0.26.15",
		PlainLists: true, RareBookmarks: true,
	},
}

// All lists the releases in a fixed order.
func All() []Release { return append([]Release{}, releases...) }

// Find returns the release of that name.
func Find(name string) (Release, bool) {
	for _, r := range releases {
		if r.Name == name {
			return r, true
		}
	}
	return Release{}, false
}

// Dir is the folder of the release's module in the project's source.
func (r Release) Dir(source string) string {
	return filepath.Join(source, "cluster", "released", r.Name)
}
