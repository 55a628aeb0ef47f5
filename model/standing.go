package model

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
