package model

// Phase says what the clients were doing when a census was taken.
type Phase string

// The phases of a run, as a census tells them apart.
const (
	// Serving: clients come and go.
	Serving Phase = "serving"
	// Left: all clients have left for good, and the server has had time to notice.
	Left Phase = "left"
	// Stopped: the server has been stopped in an orderly way, and has had time
	// for its goroutines to end.
	Stopped Phase = "stopped"
)

// Uncounted is a count of a census that nobody could tell.
const Uncounted = -1

// Census counts what one API server holds at one moment, from the outside
// wherever that is possible. One that is down is not counted. All that was
// counted, Revision included, was so at Time or shortly before. A census of the
// phases Left and Stopped may come after History.End, when the clients' records
// end.
type Census struct {
	Time   int64  `json:"time"`
	Phase  Phase  `json:"phase"`
	Server string `json:"server"`
	// Revision is the newest that any etcd member had applied; 0 if none was up.
	Revision int64 `json:"revision"`
	// Streams is how many client watches the server's front half serves.
	Streams int `json:"streams"`
	// Watchers is how many the cache under test says it holds, Uncounted if it
	// does not say.
	Watchers int `json:"watchers"`
	// EtcdWatches is how many watches on the resource etcd's members hold open
	// for this server.
	EtcdWatches int `json:"etcdWatches"`
	// Goroutines is how many the server's process has.
	Goroutines int `json:"goroutines"`
}

// Leader says who led etcd from Time on, up to the Leader that comes next.
type Leader struct {
	Time int64 `json:"time"`
	// Member is the name of the one that led; empty if none did. Of two that took
	// themselves for the leader, as can be while the network is parted, it is the one
	// of the higher term.
	Member string `json:"member"`
	// Term is that of its leadership, as far as it had applied an entry of it; 0 if
	// none led.
	Term int64 `json:"term"`
	// Leaderless is how many members were up and knew of no leader, whether or not
	// another one led.
	Leaderless int `json:"leaderless,omitempty"`
}

// CacheWindow says which [Window] the cache of one API server held from Time on, up
// to the CacheWindow of this server that comes next.
type CacheWindow struct {
	Time   int64  `json:"time"`
	Server string `json:"server"`
	// Filling counts how often the cache has been filled with a list since the server
	// started: 1 is the first, and whatever comes after is the cache begun again. It is
	// 0 while nothing can be read of the cache: the server is down, or the cache is
	// being filled. Since and Newest are 0 then.
	Filling int `json:"filling"`
	// Since and Newest are those of the Window.
	Since  int64 `json:"since"`
	Newest int64 `json:"newest"`
}
