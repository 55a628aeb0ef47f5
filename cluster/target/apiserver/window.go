package apiserver

import (
	"sync"

	"github.com/watchsim/watchsim/model"
)

// Window is how to see which window a cache holds, for those that tell nobody.
type Window struct {
	// Locks guard what See reads.
	Locks []*sync.RWMutex
	// See returns how often the cache has been filled, and its window; 0 while
	// nothing can be read of it.
	See func() (filling int, window model.Window)
}

// Window implements target.Windowed. It tries the locks, and to write rather than
// to read: while simulating, a lock that a try took for reading would be counted
// when it is given back only.
func (s *server) Window() (filling int, window model.Window, known bool) {
	if s.cache.Window.See == nil {
		return 0, model.Window{}, false
	}
	for _, lock := range s.cache.Window.Locks {
		if !lock.TryLock() {
			return 0, model.Window{}, false
		}
		defer lock.Unlock()
	}
	filling, window = s.cache.Window.See()
	return filling, window, true
}
