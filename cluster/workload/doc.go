// Package workload answers one question: what do the clients of a run do, and
// what did they see?
//
// A [Workload] is a set of clients, each kind in its own file:
//
//   - writers create, update and delete a few contended objects (writer.go);
//   - readers get and list at every kind of resourceVersion (reader.go);
//   - reflectors list, watch, resume and relist as client-go does (reflector.go);
//   - watchers open streams of every other kind (watcher.go);
//   - informers are the target's real client-go informers (informer.go);
//   - loaders create the objects that exist from the beginning (loader.go);
//   - scripted clients follow the lines of a script (script.go);
//   - the final writer makes sure that there is something left to deliver after faults have healed
//     (final_writer.go).
//
// Every client reaches an API server through a session, which records each
// request, response and event (session.go, recorder.go). How fast a client
// reads its stream is up to its consumer (consumer.go).
//
// A client draws from a random stream of its own and knows nothing but the
// responses it got, so adding one client never changes what another asks for.
package workload
