package faults

import (
	"slices"
	"strings"
)

// Point is something that an API server or an etcd member does and that a fault can wait for. The
// operation that has reached its point goes no further until the fault has begun,
// or for [HoldMost] at the most.
//
// Points are named after operations, not after places in the code, so that a plan
// goes on meaning the same when code changes.
type Point struct {
	Name string
	// Doc says in one sentence where the operation stands.
	Doc string
	// often is the highest number of an arrival that is drawn: what happens
	// all the time can be waited for longer than what is rare.
	often int
	// ofMember is whether an etcd member gets there, rather than an API server.
	ofMember bool
}

// The names of the points. Those of the first group lie between an API server's
// cache and etcd, those of the second between the server and its clients, those of the
// third between an etcd member and its disk.
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
	{Name: PointListed, Doc: "etcd has answered the cache's list, and the cache has not seen the end of it: it lies between its list and its watch", often: 1},
	{Name: PointWatch, Doc: "the cache is about to watch etcd from where its last watch ended, or its list if that was one by itself", often: 1},
	{Name: PointWatchLost, Doc: "the cache's watch on etcd has ended, and the cache has not noticed: it will reconnect", often: 1},
	{Name: PointDeletion, Doc: "etcd has told of a deletion, and the cache has not seen it", often: 5},
	{Name: PointRevision, Doc: "the cache asks etcd for its revision: for a read that has to be fresh, or for a watch from now on that it has admitted and not registered", often: 8},
	{Name: PointProgress, Doc: "the cache asks etcd to tell how far its watch has come", often: 5},
	{Name: PointClientList, Doc: "a client's list, or its first page, has arrived", often: 8},
	{Name: PointClientPage, Doc: "a client's request for a further page of a list has arrived", often: 3},
	{Name: PointClientWatch, Doc: "a client's watch has arrived, and the cache has not seen it", often: 5},
	{Name: PointClientStream, Doc: "the cache has opened a client's watch, and the client has not been told", often: 5},
	{Name: PointClientWrite, Doc: "a client's write has arrived, and etcd has not seen it", often: 8},
	{Name: PointClientWritten, Doc: "a client's write is done, and the client has not been told", often: 8},
	{Name: PointSync, Doc: "an etcd member is about to sync what it has written to its log or its database; nobody has been told of it", often: 8, ofMember: true},
}

// Points are all points, in a fixed order: new ones come last.
func Points() []Point { return slices.Clone(points) }

func isPoint(name string) bool {
	_, ok := lookupPoint(name)
	return ok
}

func lookupPoint(name string) (Point, bool) {
	at := slices.IndexFunc(points, func(point Point) bool { return point.Name == name })
	if at < 0 {
		return Point{}, false
	}
	return points[at], true
}

func pointNames() string {
	var names []string
	for _, point := range points {
		names = append(names, point.Name)
	}
	return strings.Join(names, ", ")
}
