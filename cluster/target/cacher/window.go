package cacher

import (
	"reflect"
	"sync"

	"github.com/watchsim/watchsim/cacher"
	"github.com/watchsim/watchsim/cluster/target/apiserver"
	"github.com/watchsim/watchsim/model"
)

// windowOf returns access to a cache's window. A method of the cache would have to wait
// for its lock, which an observer must not.
func windowOf(c *cacher.Cacher) apiserver.Window {
	state := reflect.ValueOf(c).Elem().FieldByName("state").Elem()
	phase, generation := state.FieldByName("readiness").FieldByName("phase"), state.FieldByName("readiness").FieldByName("generation")
	newest, since := state.FieldByName("rv"), state.FieldByName("log").Elem().FieldByName("floor")
	const ready = 1 // phaseReady
	return apiserver.Window{
		Locks: []*sync.RWMutex{(*sync.RWMutex)(state.FieldByName("mu").Addr().UnsafePointer())},
		See: func() (filling int, window model.Window) {
			if phase.Int() != ready {
				return 0, model.Window{}
			}
			return int(generation.Int()), model.Window{Since: int64(since.Uint()), Newest: int64(newest.Uint())}
		},
	}
}
