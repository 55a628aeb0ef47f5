package model

// Phase says what the clients were doing when a census was taken.
type Phase string

// The phases of a run that a census distinguishes.
const (
	// Serving: clients connect and leave.
	Serving Phase = "serving"
	// Left: all clients have left for good, and the server has had time to notice.
	Left Phase = "left"
	// Stopped: the server has shut down gracefully, and its goroutines have had
	// time to end.
	Stopped Phase = "stopped"
)

// Uncounted is a count of a census that is unknown.
const Uncounted = -1

// Census is a sample of what one API server holds, counted from outside where
// possible. A server that is down is not sampled. All values, including Revision, are
// from Time or shortly before. A census of the phases Left and Stopped may be later
// than History.End, when the clients' records end.
type Census struct {
	Time   int64  `json:"time"`
	Phase  Phase  `json:"phase"`
	Server string `json:"server"`
	// Revision is the newest that any etcd member had applied; 0 if none was up.
	Revision int64 `json:"revision"`
	// Streams is how many client watches the server serves.
	Streams int `json:"streams"`
	// Watchers is how many the cache under test reports, Uncounted if it reports
	// none.
	Watchers int `json:"watchers"`
	// EtcdWatches is how many watches on the resource etcd's members hold open
	// for this server.
	EtcdWatches int `json:"etcdWatches"`
	// Goroutines is how many the server's process has.
	Goroutines int `json:"goroutines"`
}

// Leader says who led etcd from Time until the next Leader.
type Leader struct {
	Time int64 `json:"time"`
	// Member is the name of the leader; empty if there is none. If two members consider
	// themselves the leader, which is possible during a partition, it is the one with
	// the higher term.
	Member string `json:"member"`
	// Term is the leader's term, once it has applied an entry of it; 0 if there is no
	// leader.
	Term int64 `json:"term"`
	// Leaderless is how many members were up and knew no leader, even if another one
	// led.
	Leaderless int `json:"leaderless,omitempty"`
}

// CacheWindow says which [Window] the cache of one API server held from Time until the
// next CacheWindow of that server.
type CacheWindow struct {
	Time   int64  `json:"time"`
	Server string `json:"server"`
	// Filling counts how often the cache has initialised from a list since the server
	// started: 1 is the first time, higher ones are reinitialisations. It is 0 while the
	// cache cannot be read, because the server is down or the cache is initialising.
	// Since and Newest are 0 then.
	Filling int `json:"filling"`
	// Since and Newest are those of the Window.
	Since  int64 `json:"since"`
	Newest int64 `json:"newest"`
}
