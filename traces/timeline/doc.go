// Package timeline answers one question: what does a history look like?
//
// [Write] draws one as a page of HTML: a lane for etcd, for each API server, for
// each client and for each of its streams, along simulated time or along
// resourceVersions, with faults as bands and violations marked. The page is one
// file that needs no server and makes no requests, and names and values from clusters
// are never markup in it.
//
//   - page.go: the page, from the bundle in web/dist and the data, and porcupine's
//     visualisation beside it
//   - data.go: the data of the page
//   - requests.go: operations, and streams with their events
//   - intern.go: texts, resourceVersions and objects, each once; names in order
//   - commits.go: between which times etcd committed each change, and who wrote it
//   - marks.go: violations, with the expected events beside those that arrived
//
// The sources of the bundle are in web/src; web/README.md says how it is built.
package timeline
