package apiserver

import (
	"sync"

	"github.com/watchsim/watchsim/model"
)

// Window reads the window of a cache that does not expose it.
type Window struct {
	// Locks guard what See reads.
	Locks []*sync.RWMutex
	// See returns how often the cache has been initialised, and its window; 0 if the
	// window cannot be read now.
	See func() (filling int, window model.Window)
}

// Window implements target.Windowed. A cache that is replaced counts as filled again.
func (s *server) Window() (filling int, window model.Window, known bool) {
	if !s.mu.TryLock() {
		return 0, model.Window{}, false
	}
	defer s.mu.Unlock()
	filling, window, known = s.serving.Load().window()
	if filling > 0 {
		filling += s.fillings
	}
	return filling, window, known
}

// window reads the cache's window. It tries the locks for writing: in a simulation, a read
// lock taken with TryRLock is not counted until it is released.
func (s *stack) window() (filling int, window model.Window, known bool) {
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
