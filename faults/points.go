package faults

import (
	"slices"
	"strings"
)

// Point is something that an API server does and that a fault can wait for. The
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
}

// The names of the points. Those of the first group lie between an API server's
// cache and etcd, those of the second between the server and its clients.
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
)

var points = []Point{
	{PointList, "the cache is about to list from etcd, or to watch beginning with a list", 1},
	{PointListed, "etcd has answered the cache's list, and the cache has not seen the end of it: it lies between its list and its watch", 1},
	{PointWatch, "the cache is about to watch etcd from where its last watch ended, or its list if that was one by itself", 1},
	{PointWatchLost, "the cache's watch on etcd has ended, and the cache has not noticed: it will reconnect", 1},
	{PointDeletion, "etcd has told of a deletion, and the cache has not seen it", 5},
	{PointRevision, "the cache asks etcd for its revision: for a read that has to be fresh, or for a watch from now on that it has admitted and not registered", 8},
	{PointProgress, "the cache asks etcd to tell how far its watch has come", 5},
	{PointClientList, "a client's list, or its first page, has arrived", 8},
	{PointClientPage, "a client's request for a further page of a list has arrived", 3},
	{PointClientWatch, "a client's watch has arrived, and the cache has not seen it", 5},
	{PointClientStream, "the cache has opened a client's watch, and the client has not been told", 5},
	{PointClientWrite, "a client's write has arrived, and etcd has not seen it", 8},
	{PointClientWritten, "a client's write is done, and the client has not been told", 8},
}

// Points are all points, in a fixed order: new ones come last.
func Points() []Point { return slices.Clone(points) }

func isPoint(name string) bool {
	return slices.ContainsFunc(points, func(point Point) bool { return point.Name == name })
}

func pointNames() string {
	var names []string
	for _, point := range points {
		names = append(names, point.Name)
	}
	return strings.Join(names, ", ")
}
