package target

import "path/filepath"

// ReleaseWorker is the package of a release's module that does the runs.
const ReleaseWorker = "./worker"

// Release is one release that can be run as it was shipped. Each is a Go module of its own
// in a folder below cluster/released, so that its build contains the old code and the
// project's build the new. simrun builds the module's worker command and executes runs
// with it; everything else is the project's code. docs/released-versions.md tells what
// runs of them show.
type Release struct {
	// Name is what --target calls it, and the name of its folder.
	Name string
	// Summary says what it is.
	Summary string
	// PlainLists says whether the release does not support streaming lists
	// (sendInitialEvents). It rejects such watches, so clients must not request them.
	PlainLists bool
	// RareBookmarks says whether the release sends a watch at most one bookmark a
	// minute, plus one before the watch's deadline, whatever the configuration: a run
	// has few or none.
	RareBookmarks bool
}

// releases lists all releases in a fixed order.
var releases = []Release{
	{
		Name: "kubernetes-0.26", Summary: "the etcd3 store and Cacher of Kubernetes 0.26.15, as released",
		PlainLists: true, RareBookmarks: true,
	},
	{
		Name: "etcd-3.5", Summary: "the server and client of etcd 3.5.12, as released, below Kubernetes 0.26.15",
		PlainLists: true, RareBookmarks: true,
	},
	{Name: "kubernetes-0.36", Summary: "the etcd3 store and Cacher of Kubernetes 0.36.6, as released, over etcd 3.6.16"},
}

// Releases lists the releases in a fixed order.
func Releases() []Release { return append([]Release{}, releases...) }

// FindRelease returns the release with that name.
func FindRelease(name string) (Release, bool) {
	for _, r := range releases {
		if r.Name == name {
			return r, true
		}
	}
	return Release{}, false
}

// Dir returns the folder of the release's module in the project's source.
func (r Release) Dir(source string) string {
	return filepath.Join(source, "cluster", "released", r.Name)
}
