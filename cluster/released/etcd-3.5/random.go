package etcd35

import (
	"math/rand"
	"sync"
	_ "unsafe" // for go:linkname
)

// elections is what raft draws the timeouts of elections from. This release seeds it by
// the time at which the process began.
//
//go:linkname elections go.etcd.io/etcd/raft/v3.globalRand
var elections *struct {
	mu   sync.Mutex
	rand *rand.Rand
}

// init has raft draw from the numbers of the whole process, which follow the seed in a
// simulation.
func init() { elections.rand = rand.New(process{}) }

// process is a rand.Source of the numbers that package rand's own functions draw.
type process struct{}

// Int63 implements rand.Source.
func (process) Int63() int64 { return rand.Int63() }

// Seed implements rand.Source.
func (process) Seed(int64) {}
