package faults

import "slices"

// Point is an operation of an API server or an etcd member that a fault can wait for. An operation
// that reaches an armed point waits there until the fault has begun, for [MaxGateWait] at most.
//
// Points are named after operations, not places in the code, so that plans keep their meaning when
// the code changes.
type Point struct {
	Name string
	// Doc describes in one clause how far the operation has come.
	Doc string
	// often is the highest drawn Fault.Number: a fault can wait for a later arrival at a point that
	// is reached often.
	often int
	// ofMember reports whether etcd members reach the point, rather than API servers.
	ofMember bool
}

// The names of the points. Those of the first group lie between an API server's cache and etcd, of
// the second between the server and its clients, of the third between an etcd member and its disk.
const (
	PointList      = "list"
	PointListed    = "listed"
	PointWatch     = "watch"
	PointWatchLost = "watch-lost"
	PointDeletion  = "deletion"
	PointRevision  = "revision"
	PointProgress  = "progress"

	PointClientList    = "client-list"
	PointClientPage    = "client-page"
	PointClientWatch   = "client-watch"
	PointClientStream  = "client-stream"
	PointClientWrite   = "client-write"
	PointClientWritten = "client-written"

	PointSync = "sync"
)

var points = []Point{
	{Name: PointList, Doc: "the cache is about to list from etcd, or to watch beginning with a list", often: 1},
	{Name: PointListed, Doc: "etcd has answered the cache's list, and the cache has not read the end of it: it is between list and watch", often: 1},
	{Name: PointWatch, Doc: "the cache is about to watch etcd from where its last watch ended, or from the revision of a separate list", often: 1},
	{Name: PointWatchLost, Doc: "the cache's watch on etcd has ended, and the cache has not noticed: it will reconnect", often: 1},
	{Name: PointDeletion, Doc: "etcd has sent a deletion, and the cache has not seen it", often: 5},
	{Name: PointRevision, Doc: "the cache asks etcd for its current revision: for a read that has to be fresh, or for a watch from now on that it has admitted and not yet registered", often: 8},
	{Name: PointProgress, Doc: "the cache requests a progress notification from etcd", often: 5},
	{Name: PointClientList, Doc: "a client's list, or its first page, has arrived", often: 8},
	{Name: PointClientPage, Doc: "a client's request for a further page of a list has arrived", often: 3},
	{Name: PointClientWatch, Doc: "a client's watch has arrived, and the cache has not seen it", often: 5},
	{Name: PointClientStream, Doc: "the cache has opened a client's watch, and the client has not been answered", often: 5},
	{Name: PointClientWrite, Doc: "a client's write has arrived, and etcd has not seen it", often: 8},
	{Name: PointClientWritten, Doc: "a client's write is done, and the client has not been answered", often: 8},
	{Name: PointSync, Doc: "an etcd member is about to sync what it has written to its log or its database, and has not acknowledged it", often: 8, ofMember: true},
}

// Points returns all points, in a fixed order: new ones are appended.
func Points() []Point { return slices.Clone(points) }

func lookupPoint(name string) (Point, bool) {
	at := slices.IndexFunc(points, func(point Point) bool { return point.Name == name })
	if at < 0 {
		return Point{}, false
	}
	return points[at], true
}

func pointNames() string {
	return listed(points, func(point Point) string { return point.Name })
}
