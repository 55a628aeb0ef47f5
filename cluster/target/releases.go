package target

import "path/filepath"

// ReleaseWorker is the package of a release's module that executes the runs.
const ReleaseWorker = "./worker"

// Release is a release that is run as released. Each is a Go module of its own in a folder of
// cluster/released, so that its build contains the old code and the project's build the new. simrun
// builds the module's worker command and executes runs with it; everything else is the project's
// code. docs/released-versions.md describes the results.
type Release struct {
	// Name is its name for --target, and the name of its folder.
	Name string
	// Summary says what it is.
	Summary string
	// PlainLists says that the release does not support streaming lists (sendInitialEvents). It
	// rejects such watches, so clients must not request them.
	PlainLists bool
	// RareBookmarks says that the release sends a watch at most one bookmark a minute, plus one
	// before the watch's deadline, whatever the configuration: a run has few or none.
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
